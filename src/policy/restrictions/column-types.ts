import { getKeys } from '../../lib/index.ts'

/**
 * The types that a restriction can state for a column, with the literals that such a column may be compared with. With any
 * other pair, engines cast the column and fail on rows that cannot be cast, so that a failure reveals hidden rows.
 */
export const comparableLiterals = {
  number: ['number'],
  text: ['text'],
  boolean: ['boolean'],
  date: ['date', 'text'],
  timestamp: ['timestamp', 'text'],
  texts: [],
  numbers: [],
  other: [],
} as const satisfies Record<string, readonly string[]>

export type ColumnType = keyof typeof comparableLiterals

export const columnTypes: readonly ColumnType[] = getKeys(comparableLiterals)

export const itemTypes: Partial<Readonly<Record<ColumnType | 'unknown', ColumnType>>> = {
  texts: 'text',
  numbers: 'number',
}

/** Columns by their path, joined by dots. */
export type VisibleColumns = ReadonlyMap<string, ColumnType>

/** A function of a text or a list. Its second argument is a literal: a text, or an item of the list. */
interface FilterFunction {
  readonly of: 'text' | 'list'
  readonly hasLiteral?: true
  readonly type: ColumnType
}

/** Functions that are defined for every value of their arguments, so that no error depends on a row. */
export const filterFunctions: Readonly<Record<string, FilterFunction>> = {
  lower: { of: 'text', type: 'text' },
  upper: { of: 'text', type: 'text' },
  length: { of: 'text', type: 'number' },
  starts_with: { of: 'text', hasLiteral: true, type: 'boolean' },
  ends_with: { of: 'text', hasLiteral: true, type: 'boolean' },
  contains: { of: 'text', hasLiteral: true, type: 'boolean' },
  array_has: { of: 'list', hasLiteral: true, type: 'boolean' },
}
