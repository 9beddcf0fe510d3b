import type { ColumnType } from './column-type.ts'

/**
 * Functions that are defined for every value of their arguments, so that no error depends on a row. `column` and `list`
 * are values of a type; `text` is a literal; `item` is a literal of the type of the items of the list.
 */
export const filterFunctions: Readonly<
  Record<string, readonly [arguments: readonly ArgumentKind[], type: ColumnType]>
> = {
  lower: [['column'], 'text'],
  upper: [['column'], 'text'],
  length: [['column'], 'number'],
  char_length: [['column'], 'number'],
  starts_with: [['column', 'text'], 'boolean'],
  ends_with: [['column', 'text'], 'boolean'],
  contains: [['column', 'text'], 'boolean'],
  array_has: [['list', 'item'], 'boolean'],
}

export type ArgumentKind = 'column' | 'text' | 'list' | 'item'
