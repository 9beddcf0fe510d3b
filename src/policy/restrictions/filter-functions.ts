import type { ColumnType } from './column-type.ts'

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
