import type { Principal } from '../../identity/principal.ts'
import type { RuleReference } from '../engine/decision.ts'
import { readVariable } from './caller-variable.ts'
import type { ColumnType } from './column-type.ts'
import type { FilterExpression } from './filter-expression.ts'
import { printFilter, printFilterAsWritten } from './print-filter.ts'

/** Columns by their path, joined by dots. */
export type VisibleColumns = ReadonlyMap<string, ColumnType>

/** All declared columns of a table but those that have one of the tags. */
export interface ColumnsWithout {
  readonly without: readonly string[]
}

/** A restriction as the policy has it. With `without`, its columns depend on the table. */
export interface WrittenRestriction extends Omit<TableRestriction, 'columns'> {
  readonly columns: VisibleColumns | ColumnsWithout
}

/** What a policy leaves of a table: a restriction allows nothing by itself. */
export interface TableRestriction {
  /** The only columns that exist for the caller, in the order of the policy. */
  readonly columns: VisibleColumns
  /** The only rows that exist for the caller; undefined for all. */
  readonly rows: FilterExpression | undefined
}

/** A restriction with the name of its rule. */
export interface NamedRestriction extends TableRestriction {
  readonly rule: RuleReference
}

/** All restrictions of a caller on a table, for one request. */
export interface CallerRestriction {
  readonly columns: VisibleColumns
  /** The condition on rows as it is sent to the engine; undefined for all rows. */
  readonly rows: string | undefined
  /** Of which the columns and rows are the intersection. */
  readonly parts: readonly NamedRestriction[]
}

/** Combines restrictions, of which there is at least one: a column remains if all have it, and a row if all conditions hold. */
export function combineRestrictions(
  restrictions: readonly NamedRestriction[],
  principal: Principal,
): CallerRestriction {
  const conditions = restrictions.flatMap(({ rows }) => (rows === undefined ? [] : [rows]))
  return {
    columns: restrictions.map(({ columns }) => columns).reduce(intersectColumns),
    rows: conditions.length === 0 ? undefined : printConditions(conditions, principal),
    parts: restrictions,
  }
}

/** A struct in one list and a part of it in the other leave the part. Types that contradict each other leave none. */
function intersectColumns(one: VisibleColumns, other: VisibleColumns): VisibleColumns {
  const both = new Map<string, ColumnType>()
  for (const [path, type] of one) {
    const same = other.get(path)
    if (same !== undefined) both.set(path, same === type ? type : 'other')
    else if (isBeneath(path, other)) both.set(path, type)
    else for (const [part, itsType] of other) if (part.startsWith(`${path}.`)) both.set(part, itsType)
  }
  return both
}

function isBeneath(path: string, columns: VisibleColumns): boolean {
  return [...columns.keys()].some((whole) => path.startsWith(`${whole}.`))
}

/** A fact that the caller does not have leaves no rows. */
function printConditions(conditions: readonly FilterExpression[], principal: Principal): string {
  const printed = conditions.map((condition) =>
    printFilter(condition, (variable) => readVariable(variable, principal)),
  )
  return printed.includes(undefined) ? 'false' : printed.join(' AND ')
}

/** A restriction for JSON. */
export interface RestrictionReport {
  readonly rule: RuleReference
  /** Types by the path of the column. */
  readonly columns: Readonly<Record<string, ColumnType>>
  /** The condition on rows as the policy has it; undefined for all rows. */
  readonly rows?: string
}

export function describeRestriction({ rule, columns, rows }: NamedRestriction): RestrictionReport {
  return {
    rule,
    columns: Object.fromEntries(columns),
    ...(rows && { rows: printFilterAsWritten(rows) }),
  }
}
