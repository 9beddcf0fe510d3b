import { CatalogError, invalidInput, quoteForMessage } from 'catalog-gateway/catalog-api'
import { readTokens } from './measure-sql.ts'

type Token = ReturnType<typeof readTokens> extends Generator<infer Item> ? Item : never

/** A query over one table; expressions and filter are SQL of the engine. */
export interface SelectQuery {
  /** The names of the table from the root down. */
  readonly source: readonly string[]
  readonly items: readonly SelectItem[]
  readonly filter: string | undefined
  readonly limit: number | undefined
}

/** All columns, or an expression with the name of its column. */
export type SelectItem = '*' | { readonly name: string; readonly expression: string }

/** The clauses in their order. */
const clauses = ['select', 'from', 'where', 'limit'] as const
const unsupportedWords = new Set([
  'cross',
  'distinct',
  'except',
  'fetch',
  'group',
  'having',
  'intersect',
  'join',
  'lateral',
  'natural',
  'offset',
  'order',
  'over',
  'qualify',
  'union',
  'unnest',
  'window',
  'with',
])

/**
 * Parses `SELECT * | expression [AS name], ... FROM [namespace.]table [WHERE condition] [LIMIT rows]`. Names are words,
 * or in double quotes or backticks. Throws Unsupported (406) for any other query, and InvalidInput (400) for text that
 * is no query.
 */
export function parseSelect(sql: string): SelectQuery {
  const parts = splitClauses(sql)
  return {
    source: parseSource(parts.from),
    items: splitAtCommas(parts.select).map(parseItem),
    filter: parts.where && formatExpression(parts.where),
    limit: parts.limit && parseLimit(parts.limit),
  }
}

type Clauses = {
  readonly [Name in (typeof clauses)[number]]: Name extends 'where' | 'limit' ? Token[] | undefined : Token[]
}

function splitClauses(sql: string): Clauses {
  const found: Partial<Record<(typeof clauses)[number], Token[]>> = {}
  let last: Token[] | undefined
  let lastIndex = -1
  let depth = 0
  for (const token of trimEnd([...readTokens(sql)])) {
    const { kind, text } = token
    if (kind === 'bracket') depth += '([{'.includes(text) ? 1 : -1
    const word = kind === 'word' ? text.toLowerCase() : ''
    if (unsupportedWords.has(word) || (depth > 0 && word === 'select'))
      throw unsupportedQueryError(text.toUpperCase())
    const index = depth === 0 ? clauses.findIndex((clause) => clause === word) : -1
    const clause = clauses[index]
    if (clause !== undefined && index > lastIndex) {
      last = found[clause] = []
      lastIndex = index
    } else if (last !== undefined) {
      last.push(token)
    } else if (kind !== 'blank') {
      throw invalidInput('the query does not begin with SELECT')
    }
  }
  const { select = [], from, where, limit } = found
  if (from === undefined) throw invalidInput('the query names no table; expected SELECT ... FROM table')
  return { select, from, where, limit }
}

function trimEnd(tokens: readonly Token[]): readonly Token[] {
  const end = tokens.findLastIndex(({ kind, text }) => kind !== 'blank' && text !== ';')
  return tokens.slice(0, end + 1)
}

function splitAtCommas(tokens: readonly Token[]): Token[][] {
  const items: Token[][] = [[]]
  let depth = 0
  for (const token of tokens) {
    if (token.kind === 'bracket') depth += '([{'.includes(token.text) ? 1 : -1
    if (depth === 0 && token.text === ',') items.push([])
    else items.at(-1)?.push(token)
  }
  return items
}

function parseItem(tokens: readonly Token[]): SelectItem {
  const parts = tokens.filter(({ kind }) => kind !== 'blank')
  const [first] = parts
  if (parts.length === 1 && first?.text === '*') return '*'
  const before = parts.at(-2)
  if (before?.kind === 'word' && before.text.toLowerCase() === 'as') {
    const end = tokens.lastIndexOf(before)
    return { name: parseName(parts.at(-1)), expression: formatExpression(tokens.slice(0, end)) }
  }
  if (parts.length === 1 && first?.text.startsWith("'") === false && !first.text.startsWith('"')) {
    const name = parseName(first)
    return { name, expression: `\`${name.replaceAll('`', '``')}\`` }
  }
  throw invalidInput(
    `the query computes ${quoteForMessage(joinTokens(tokens))} without a name; expected AS and a name`,
  )
}

function parseSource(tokens: readonly Token[]): string[] {
  const parts = tokens.filter(({ kind }) => kind !== 'blank')
  if (parts.length === 0) throw invalidInput('the query names no table after FROM')
  return parts.flatMap((token, index) => {
    if (index % 2 === 0) return [parseName(token)]
    if (token.text === '.') return []
    throw unsupportedQueryError(`${quoteForMessage(token.text)} after a table`)
  })
}

function parseLimit(tokens: readonly Token[]): number {
  const text = joinTokens(tokens)
  const limit = Number(text)
  if (/^\d+$/.test(text) && Number.isSafeInteger(limit) && limit > 0) return limit
  throw invalidInput(`the limit of the query is ${quoteForMessage(text)}; expected a positive number`)
}

function parseName(token: Token | undefined): string {
  if (token?.kind === 'word' && !/^\d/.test(token.text)) return token.text
  const quote = token?.kind === 'quoted' ? token.text.charAt(0) : ''
  if (token !== undefined && (quote === '"' || quote === '`')) {
    return token.text.slice(1, -1).replaceAll(quote + quote, quote)
  }
  throw invalidInput(`expected a name in the query, but found ${quoteForMessage(token?.text ?? 'its end')}`)
}

/** The engine would read a name in double quotes as a text. */
function formatExpression(tokens: readonly Token[]): string {
  const quoted = tokens.find(({ kind, text }) => kind === 'quoted' && text.startsWith('"'))
  if (quoted !== undefined) {
    throw invalidInput(
      `the query has ${quoted.text} in an expression; expected a column in backticks or a text in single quotes`,
    )
  }
  const text = joinTokens(tokens)
  if (text === '') throw invalidInput('the query has an empty expression')
  return text
}

function joinTokens(tokens: readonly Token[]): string {
  return tokens
    .map(({ text }) => text)
    .join('')
    .trim()
}

function unsupportedQueryError(found: string): CatalogError {
  return new CatalogError(
    'Unsupported',
    `the query has ${found}; this catalog supports views of one table: SELECT ... FROM table WHERE ... LIMIT ...`,
  )
}
