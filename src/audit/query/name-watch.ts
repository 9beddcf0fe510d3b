import { formatIdentifierText } from '../../catalog-api/identifier-text.ts'
import { listNames, type NameCriterion, type RecordFilter, type SelectedRecord } from './select-records.ts'

/** A name in a filter that no record contains. */
export interface UnknownName {
  readonly criterion: NameCriterion | 'table'
  readonly name: string
  /** Names that records contain instead: the first 100,000 distinct ones. */
  readonly others: ReadonlySet<string>
}

/** Finds out which names of a filter no record contains, from records that are read once anyway. */
export interface NameWatch {
  /** Must be called for every record of the log, selected or not. */
  observe(record: SelectedRecord): void
  /** In the order operation, principal, rule, table. */
  listUnknown(): readonly UnknownName[]
}

const maxOthers = 100_000
const nameCriteria: readonly NameCriterion[] = ['operation', 'principal', 'rule']

export function watchNames(filter: RecordFilter): NameWatch {
  const watches = [
    ...nameCriteria.map((criterion) =>
      watchName(criterion, filter[criterion], (record) => listNames(criterion, record)),
    ),
    watchName('table', filter.table && formatIdentifierText(filter.table), ({ record }) =>
      (record.tables ?? []).map(({ id }) => formatIdentifierText(id)),
    ),
  ]
  return {
    observe(record) {
      for (const watch of watches) watch.observe(record)
    },
    listUnknown: () => watches.flatMap((watch) => watch.unknown ?? []),
  }
}

function watchName(
  criterion: UnknownName['criterion'],
  name: string | undefined,
  listNamesOf: (record: SelectedRecord) => readonly string[],
) {
  const others = new Set<string>()
  let isKnown = name === undefined
  return {
    observe(record: SelectedRecord): void {
      if (isKnown) return
      for (const other of listNamesOf(record)) {
        if (other === name) isKnown = true
        else if (others.size < maxOthers) others.add(other)
      }
    },
    get unknown(): UnknownName | undefined {
      return isKnown || name === undefined ? undefined : { criterion, name, others }
    },
  }
}
