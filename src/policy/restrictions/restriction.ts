import type { Principal } from '../../identity/index.ts'
import { memoizeByObject } from '../../lib/index.ts'
import type { RuleReference } from '../engine/decision.ts'
import type { VisibleColumns } from './column-types.ts'
import { printFilter, type PrintVariable, quoteText } from './print-filter.ts'

/** A restriction as the policy has it. With `without`, it leaves the declared columns of a table without these tags. */
export interface WrittenRestriction extends Omit<TableRestriction, 'columns'> {
  readonly columns: VisibleColumns | { readonly without: readonly string[] }
}

/** The part of a table that a policy leaves: a restriction allows nothing by itself. */
export interface TableRestriction {
  /** The only columns that exist for the caller, in the order of the policy. */
  readonly columns: VisibleColumns
  /** The only rows that exist for the caller; undefined for all. */
  readonly rows: RestrictedRows | undefined
}

interface RestrictedRows {
  /** As the policy has it. */
  readonly text: string
  /** Types of the columns that the policy lists. */
  readonly types: VisibleColumns
  /** For people, and for comparisons: printed with facts of the caller as in the policy, `$principal.claims.region`. */
  readonly shown: string
}

/** Throws FilterError if the condition is not valid. */
export function readRows(text: string, types: VisibleColumns): RestrictedRows {
  return { text, types, shown: print({ text, types }, (fact) => [`$${fact}`]) }
}

/** Lists the columns that a condition on rows names. */
export function listRowColumns({ text, types }: RestrictedRows): ReadonlySet<string> {
  const columns = new Set<string>()
  const findColumn = (path: string) => {
    columns.add(path)
    return types.get(path) ?? 'unknown'
  }
  printFilter(text, findColumn, () => undefined)
  return columns
}

export interface NamedRestriction extends TableRestriction {
  readonly rule: RuleReference
}

/** All restrictions of a caller on a table, for one request. */
export interface CallerRestriction {
  readonly columns: VisibleColumns
  /** `columns` and `rows` are their intersection. */
  readonly parts: readonly NamedRestriction[]
  /** The condition on rows as it is sent to the engine; undefined for all rows. */
  readonly rows: string | undefined
}

/**
 * Combines the restrictions on a table, at least one, for a caller. A fact that the caller does not have leaves no rows.
 * Cached per principal, because it takes as long as to parse the conditions on rows.
 */
export function combineRestrictions(
  parts: readonly NamedRestriction[],
): (principal: Principal) => CallerRestriction {
  const columns = combineColumns(parts)
  return memoizeByObject((principal) => ({ columns, parts, rows: combineRows(parts, principal) }))
}

function combineRows(parts: readonly NamedRestriction[], principal: Principal): string | undefined {
  const conditions = parts.flatMap(({ rows }) =>
    rows === undefined ? [] : print(rows, (fact) => readVariable(fact, principal)?.map(quoteText)),
  )
  if (conditions.length === 0) return undefined
  return conditions.includes('false') ? 'false' : conditions.join(' AND ')
}

/** The columns that all restrictions, at least one, leave. */
export function combineColumns(parts: readonly TableRestriction[]): VisibleColumns {
  return parts.map(({ columns }) => columns).reduce(intersectColumns)
}

export function isSameRestriction(
  one: CallerRestriction | undefined,
  other: CallerRestriction | undefined,
): boolean {
  if (one === undefined || other === undefined) return one === other
  return (
    one.rows === other.rows &&
    one.columns.size === other.columns.size &&
    [...one.columns].every(([path, type]) => other.columns.get(path) === type)
  )
}

/** The columns of both lists; a type that contradicts the other becomes `other`. A struct and its part are different columns. */
function intersectColumns(one: VisibleColumns, other: VisibleColumns): VisibleColumns {
  const both = [...one].filter(([path]) => other.has(path))
  return new Map(both.map(([path, type]) => [path, other.get(path) === type ? type : 'other']))
}

/** Lists the paths of the structs that a column is in, the outermost first. */
export function listStructs(path: string): readonly string[] {
  const structs: string[] = []
  for (let dot = path.indexOf('.'); dot !== -1; dot = path.indexOf('.', dot + 1))
    structs.push(path.slice(0, dot))
  return structs
}

export type RestrictionReport = ReturnType<typeof describeRestriction>

/** With the types of columns by their path, and the condition on rows as the policy has it; undefined for all rows. */
export function describeRestriction({ rule, columns, rows }: NamedRestriction) {
  return { rule, columns: Object.fromEntries(columns), rows: rows?.shown }
}

/** Columns that the caller does not see may be named: their type is that of the literal. */
function print({ text, types }: Omit<RestrictedRows, 'shown'>, printVariable: PrintVariable): string {
  return printFilter(text, (path) => types.get(path) ?? 'unknown', printVariable)
}

/** Returns undefined for anything but texts that everyone reads alike: an engine, and a reader of audit records. */
function readVariable(fact: string, { name, groups, claims = {} }: Principal): readonly string[] | undefined {
  const [, member, claim = ''] = fact.split('.')
  const own = Object.hasOwn(claims, claim) ? claims[claim] : undefined
  const value = member === 'name' ? name : member === 'groups' ? [...groups] : own
  const texts: readonly unknown[] = Array.isArray(value) ? value : [value]
  return texts.every(isShownText) ? texts : undefined
}

function isShownText(value: unknown): value is string {
  return typeof value === 'string' && !/[\\\p{C}\u2028\u2029]/u.test(value)
}
