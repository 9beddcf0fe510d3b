import type { PolicySet } from '../policy-set.ts'
import { printFilterAsWritten } from '../restrictions/print-filter.ts'
import type { VisibleColumns } from '../restrictions/restriction.ts'
import { listNamespaces } from './steps.ts'
import { listRestrictions, type ReachingRestriction } from './reaching-restrictions.ts'

/** A restriction that only one of two policy sets has, or that both have with another content. */
export interface RestrictionChange {
  /** `policy/id`, and the table if its columns are selected by tags. */
  readonly name: string
  readonly before: ReachingRestriction | undefined
  readonly after: ReachingRestriction | undefined
  readonly effects: readonly RestrictionEffect[]
}

/** What callers gain or lose; `changes` if that is not known, because texts were compared. */
export interface RestrictionEffect {
  readonly direction: 'gains' | 'loses' | 'changes'
  readonly part: 'columns' | 'rows' | 'callers' | 'tables'
  /** The columns; undefined for those that the restriction does not have. */
  readonly columns?: VisibleColumns
}

/**
 * Compares the restrictions of two policy sets. Those with the same callers, tables, columns and condition on rows are
 * equal, whatever their policy and id; all others are compared by policy and id.
 */
export function diffRestrictions(before: PolicySet, after: PolicySet): readonly RestrictionChange[] {
  const [all, others] = [listAll(before, after), listAll(after, before)]
  const [removed, added] = [listMissing(all, others), listMissing(others, all)]
  return [...new Set([...removed.keys(), ...added.keys()])].map((name) => {
    const [one, other] = [removed.get(name), added.get(name)]
    return { name, before: one, after: other, effects: listEffects(one, other) }
  })
}

/** Restrictions by tags are listed for the tables that either side declares, so that both list the same tables. */
function listAll(set: PolicySet, other: PolicySet): readonly ReachingRestriction[] {
  return [...listNamespaces(set).values()].flatMap((namespace) => {
    const tables = [set, other].flatMap((side) => side.listTaggedTables(namespace))
    return listRestrictions(set, namespace, [...new Set(tables)])
  })
}

/** Returns the restrictions that no other one equals, by name. */
function listMissing(
  restrictions: readonly ReachingRestriction[],
  others: readonly ReachingRestriction[],
): ReadonlyMap<string, ReachingRestriction> {
  const contents = new Set(others.map(contentOf))
  const missing = restrictions.filter((one) => !contents.has(contentOf(one)))
  return new Map(missing.map((one) => [nameOf(one), one]))
}

function contentOf(one: ReachingRestriction): string {
  return JSON.stringify([describeParts(one), [...one.restriction.columns].map(String).toSorted()])
}

/** A restriction by tags is one for each table that either side declares. */
function nameOf({ document, rule, exceptTables }: ReachingRestriction): string {
  const name = `${document.name}/${rule.id}`
  if (rule.restriction === undefined || !('without' in rule.restriction.columns)) return name
  return exceptTables === undefined ? `${name} on ${rule.tables?.join(', ')}` : `${name} on all other tables`
}

const comparedParts = ['rows', 'callers', 'tables'] as const

/** The text of a part is empty if the restriction has none. */
function describeParts({
  document,
  rule,
  restriction: { rows },
}: ReachingRestriction): Readonly<Record<(typeof comparedParts)[number], string>> {
  return {
    rows: rows === undefined ? '' : printFilterAsWritten(rows),
    callers: JSON.stringify(rule.subjects),
    tables: JSON.stringify([document.namespace, rule.tables]),
  }
}

function listEffects(
  before: ReachingRestriction | undefined,
  after: ReachingRestriction | undefined,
): readonly RestrictionEffect[] {
  if (before === undefined || after === undefined) {
    const direction = after === undefined ? 'gains' : 'loses'
    const rows = (before ?? after)?.restriction.rows
    return [{ direction, part: 'columns' }, ...(rows ? [{ direction, part: 'rows' } as const] : [])]
  }
  const [one, other] = [describeParts(before), describeParts(after)]
  return [
    ...compareColumns('gains', after, before),
    ...compareColumns('loses', before, after),
    ...comparedParts.flatMap((part): readonly RestrictionEffect[] => {
      if (one[part] === other[part]) return []
      return [{ direction: one[part] === '' ? 'loses' : other[part] === '' ? 'gains' : 'changes', part }]
    }),
  ]
}

/** The columns, with their types, that the other restriction does not have. */
function compareColumns(
  direction: 'gains' | 'loses',
  { restriction: { columns } }: ReachingRestriction,
  other: ReachingRestriction,
): readonly RestrictionEffect[] {
  const missing = [...columns].filter(([path, type]) => other.restriction.columns.get(path) !== type)
  return missing.length === 0 ? [] : [{ direction, part: 'columns', columns: new Map(missing) }]
}
