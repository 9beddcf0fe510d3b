import { getKeys } from '../../lib/index.ts'

/**
 * What a restriction says that a column holds, with the literals that such a column may be compared with. With any other
 * pair, engines cast the column and fail on rows that cannot be cast, so that the failure tells of rows that are hidden.
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

/** The types of the items of lists. */
export const itemTypes: Partial<Readonly<Record<ColumnType | 'unknown', ColumnType>>> = {
  texts: 'text',
  numbers: 'number',
}

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
  char_length: { of: 'text', type: 'number' },
  starts_with: { of: 'text', hasLiteral: true, type: 'boolean' },
  ends_with: { of: 'text', hasLiteral: true, type: 'boolean' },
  contains: { of: 'text', hasLiteral: true, type: 'boolean' },
  array_has: { of: 'list', hasLiteral: true, type: 'boolean' },
}

/** A condition on rows as `parseFilter` prints it: nothing of its text is copied. Facts of the caller are still missing. */
export type FilterExpression = readonly (string | CallerVariable | CallerList)[]

/** A fact of the caller, such as `$principal.claims.region`: one text. */
export interface CallerVariable {
  readonly path: readonly string[]
}

/** `IN` with facts of the caller, each of which is a list of texts. */
interface CallerList {
  readonly value: string
  readonly isNegated: boolean
  readonly operands: readonly (string | CallerVariable)[]
}

/** Returns the texts that a fact of the caller stands for; undefined if the caller does not have it. */
type ReadVariable = (variable: CallerVariable) => readonly string[] | undefined

/**
 * Prints a filter for the engine. Names are in backticks, which are exact in DataFusion's SQL as Lance reads it, texts are
 * quoted anew, and everything is in parentheses. Returns `false` if a fact that it needs is missing: then no row is meant,
 * whatever the rest says.
 */
export function printFilter(
  expression: FilterExpression,
  readVariable: ReadVariable = () => undefined,
): string {
  return print(expression, (variable) => readVariable(variable)?.map(quoteText)) ?? 'false'
}

/** Prints a filter for people, who see facts of the caller as in the policy: `$principal.claims.region`. */
export function printFilterAsWritten(expression: FilterExpression): string {
  return print(expression, ({ path }) => [`$${path.join('.')}`]) ?? ''
}

function print(expression: FilterExpression, read: ReadVariable): string | undefined {
  let printed = ''
  for (const part of expression) {
    const text =
      typeof part === 'string' ? part : 'path' in part ? printOne(part, read) : printList(part, read)
    if (text === undefined) return undefined
    printed += text
  }
  return printed
}

/** Outside of lists, a fact is one text. */
function printOne(variable: CallerVariable, read: ReadVariable): string | undefined {
  const [text, ...others] = read(variable) ?? []
  return others.length === 0 ? text : undefined
}

function printList({ value, isNegated, operands }: CallerList, read: ReadVariable): string | undefined {
  const items: string[] = []
  for (const operand of operands) {
    const texts = typeof operand === 'string' ? [operand] : read(operand)
    if (texts === undefined) return undefined
    items.push(...texts)
  }
  // An empty list is no valid SQL.
  return items.length === 0
    ? String(isNegated)
    : `(${value} ${isNegated ? 'NOT ' : ''}IN (${items.join(', ')}))`
}

export function quoteText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}

/** As a tree that is as deep as the logarithm of its parts: engines recurse, and a flat chain can overflow their stack. */
export function joinBalanced(parts: readonly FilterExpression[], word: string): FilterExpression {
  const joined: FilterExpression[number][] = []
  function add(from: number, to: number): void {
    if (to - from === 1) {
      for (const part of parts[from] ?? []) joined.push(part)
      return
    }
    const half = (from + to) >> 1
    joined.push('(')
    add(from, half)
    joined.push(` ${word} `)
    add(half, to)
    joined.push(')')
  }
  add(0, parts.length)
  return joined
}
