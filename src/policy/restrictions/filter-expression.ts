/** What a restriction says that a column holds: it decides which literals a filter may compare the column with. */
export const columnTypes = [
  'number',
  'text',
  'boolean',
  'date',
  'timestamp',
  'texts',
  'numbers',
  'other',
] as const

export type ColumnType = (typeof columnTypes)[number]

export type LiteralType = 'number' | 'text' | 'boolean' | 'date' | 'timestamp'

/**
 * Literals that each type is compared with. With any other pair, engines cast the column and fail on rows that cannot be
 * cast, so that the failure tells of rows that are hidden.
 */
export const comparableLiterals: Readonly<Record<ColumnType, readonly LiteralType[]>> = {
  number: ['number'],
  text: ['text'],
  boolean: ['boolean'],
  date: ['date', 'text'],
  timestamp: ['timestamp', 'text'],
  texts: [],
  numbers: [],
  other: [],
}

/** The literals that are items of lists of that type. */
export const itemLiterals: Partial<Readonly<Record<ColumnType, LiteralType>>> = {
  texts: 'text',
  numbers: 'number',
}

/** A function of a text or a list, and of a literal if it has a second argument: a text, or an item of the list. */
interface FilterFunction {
  readonly of: 'text' | 'list'
  readonly literal?: 'text' | 'item'
  readonly type: ColumnType
}

/** Functions that are defined for every value of their arguments, so that no error depends on a row. */
export const filterFunctions: Readonly<Record<string, FilterFunction>> = {
  lower: { of: 'text', type: 'text' },
  upper: { of: 'text', type: 'text' },
  length: { of: 'text', type: 'number' },
  char_length: { of: 'text', type: 'number' },
  starts_with: { of: 'text', literal: 'text', type: 'boolean' },
  ends_with: { of: 'text', literal: 'text', type: 'boolean' },
  contains: { of: 'text', literal: 'text', type: 'boolean' },
  array_has: { of: 'list', literal: 'item', type: 'boolean' },
}

/** A condition on rows as `parseFilter` prints it: nothing of its text is copied. Facts of the caller are still missing. */
export type FilterExpression = readonly (string | CallerVariable | CallerList)[]

/** A fact of the caller, such as `$principal.claims.region`: one text. */
export interface CallerVariable {
  readonly path: readonly string[]
}

/** `IN` with facts of the caller, each of which is a list of texts. */
export interface CallerList {
  readonly value: string
  readonly isNegated: boolean
  readonly operands: readonly (string | CallerVariable)[]
}
