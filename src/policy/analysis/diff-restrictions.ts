import { printFilterAsWritten } from '../restrictions/print-filter.ts'
import type { VisibleColumns } from '../restrictions/restriction.ts'
import { namespaceKey } from '../engine/object-position.ts'
import type { PolicySet } from '../policy-set.ts'
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
  const removed = indexByName(subtract(all, others))
  const added = indexByName(subtract(others, all))
  return [...new Set([...removed.keys(), ...added.keys()])].map((name) => {
    const [one, other] = [removed.get(name), added.get(name)]
    return { name, before: one, after: other, effects: listEffects(one, other) }
  })
}

/** Restrictions by tags are listed for the tables that either side declares, so that both list the same tables. */
function listAll(set: PolicySet, other: PolicySet): readonly ReachingRestriction[] {
  const namespaces = new Map(set.documents.map(({ namespace }) => [namespaceKey(namespace), namespace]))
  return [...namespaces.values()].flatMap((namespace) => {
    const tables = [set, other].flatMap((side) => side.listTaggedTables(namespace))
    return listRestrictions(set, namespace, [...new Set(tables)])
  })
}

/** Returns the restrictions that no other one equals. */
function subtract(
  restrictions: readonly ReachingRestriction[],
  others: readonly ReachingRestriction[],
): readonly ReachingRestriction[] {
  const contents = new Set(others.map(contentOf))
  return restrictions.filter((restriction) => !contents.has(contentOf(restriction)))
}

function contentOf(restriction: ReachingRestriction): string {
  const columns = [...restriction.restriction.columns].map(String).toSorted()
  return [callersOf, tablesOf, rowsOf].map((read) => read(restriction)).join('\n') + JSON.stringify(columns)
}

function indexByName(restrictions: readonly ReachingRestriction[]): ReadonlyMap<string, ReachingRestriction> {
  return new Map(restrictions.map((one) => [nameOf(one), one]))
}

/** A restriction by tags is one for each table that either side declares. */
function nameOf({ document, rule, exceptTables }: ReachingRestriction): string {
  const name = `${document.name}/${rule.id}`
  if (rule.restriction === undefined || !('without' in rule.restriction.columns)) return name
  return exceptTables === undefined ? `${name} on ${rule.tables?.join(', ')}` : `${name} on all other tables`
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
  const gained = subtractColumns(after, before)
  const lost = subtractColumns(before, after)
  return [
    ...(gained.size > 0 ? [{ direction: 'gains', part: 'columns', columns: gained } as const] : []),
    ...(lost.size > 0 ? [{ direction: 'loses', part: 'columns', columns: lost } as const] : []),
    ...compareRows(before, after),
    ...compareText('callers', callersOf, before, after),
    ...compareText('tables', tablesOf, before, after),
  ]
}

/** Returns the columns, with their types, that the other restriction does not have. */
function subtractColumns(one: ReachingRestriction, other: ReachingRestriction): VisibleColumns {
  const { columns } = other.restriction
  return new Map([...one.restriction.columns].filter(([path, type]) => columns.get(path) !== type))
}

function compareRows(before: ReachingRestriction, after: ReachingRestriction): readonly RestrictionEffect[] {
  const part = 'rows'
  if (rowsOf(before) === rowsOf(after)) return []
  if (before.restriction.rows === undefined) return [{ direction: 'loses', part }]
  return [{ direction: after.restriction.rows === undefined ? 'gains' : 'changes', part }]
}

function compareText(
  part: 'callers' | 'tables',
  read: (restriction: ReachingRestriction) => string,
  before: ReachingRestriction,
  after: ReachingRestriction,
): readonly RestrictionEffect[] {
  return read(before) === read(after) ? [] : [{ direction: 'changes', part }]
}

function callersOf({ rule }: ReachingRestriction): string {
  return JSON.stringify(rule.subjects)
}

function tablesOf({ document, rule }: ReachingRestriction): string {
  return JSON.stringify([document.namespace, rule.tables])
}

function rowsOf({ restriction: { rows } }: ReachingRestriction): string {
  return rows === undefined ? '' : printFilterAsWritten(rows)
}
