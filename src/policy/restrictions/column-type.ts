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
