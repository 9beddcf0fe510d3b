import { assertLevels } from './assert-levels.ts'
import { itemLiterals, type ColumnType } from './column-type.ts'
import { FilterError } from './filter-error.ts'
import type { FilterValue, Literal } from './filter-expression.ts'
import { filterFunctions } from './filter-functions.ts'
import { parseLiteral } from './parse-operand.ts'
import { TokenReader } from './token-reader.ts'

/** Returns the type of a column; `unknown` if it may be compared with any literal; undefined if there is no such column. */
export type FindColumn = (path: readonly string[]) => ColumnType | 'unknown' | undefined

/** Parses a column or a function of one, as queries select them. Throws FilterError. */
export function parseColumnExpression(text: string, findColumn: FindColumn): FilterValue {
  const tokens = new TokenReader(text)
  const value = parseValue(tokens, findColumn)
  tokens.expectEnd()
  assertLevels({ kind: 'value', value })
  return value
}

/** Parses a column or a function of one. Throws FilterError. */
export function parseValue(tokens: TokenReader, findColumn: FindColumn): FilterValue {
  return tokens.isCall
    ? tokens.parseNested(() => parseCall(tokens, findColumn))
    : parseColumn(tokens, findColumn)
}

function parseColumn(tokens: TokenReader, findColumn: FindColumn): FilterValue {
  const { text: first, offset } = tokens.expect('name')
  const path = [first]
  while (tokens.takes('sign', '.')) path.push(tokens.expect('name').text)
  const type = findColumn(path)
  if (type === undefined)
    throw new FilterError(`there is no column ${JSON.stringify(path.join('.'))}`, offset)
  return { kind: 'column', path, type }
}

function parseCall(tokens: TokenReader, findColumn: FindColumn): FilterValue {
  const name = tokens.expect('name').text.toLowerCase()
  const called = Object.hasOwn(filterFunctions, name) ? filterFunctions[name] : undefined
  if (called === undefined)
    throw tokens.error(
      `the function ${name} is not supported; expected one of ${Object.keys(filterFunctions).join(', ')}`,
    )
  tokens.expect('sign', '(')
  const value = parseValue(tokens, findColumn)
  if (called.of === 'text') assertText(tokens, value, name)
  else if (value.type !== 'unknown' && itemLiterals[value.type] === undefined)
    throw tokens.error(`${name} is for lists`)
  const parsed: (FilterValue | Literal)[] = [value]
  if (called.literal !== undefined) {
    tokens.expect('sign', ',')
    parsed.push(called.literal === 'text' ? parseText(tokens) : parseItem(tokens, value, name))
  }
  tokens.expect('sign', ')')
  return { kind: 'call', name, arguments: parsed, type: called.type }
}

function parseText(tokens: TokenReader): Literal {
  return { kind: 'literal', type: 'text', text: tokens.expect('text').text }
}

function parseItem(tokens: TokenReader, list: FilterValue, name: string): Literal {
  const item = parseLiteral(tokens)
  if (list.type !== 'unknown' && item.type !== itemLiterals[list.type])
    throw tokens.error(`${name} needs an item of the list`)
  return item
}

/** Throws FilterError unless the value that was read last is a text. */
export function assertText(tokens: TokenReader, value: FilterValue, user: string): void {
  if (value.type !== 'unknown' && value.type !== 'text')
    throw tokens.error(`${user} is for columns of the type text`)
}
