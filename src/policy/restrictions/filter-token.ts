import { FilterError } from './filter-error.ts'

export interface FilterToken {
  /** For a keyword or sign, `text` is its folded spelling; for others, what it holds. */
  readonly kind: 'keyword' | 'sign' | 'name' | 'text' | 'number' | 'variable'
  readonly text: string
  /** Whether a name is without backticks, so that it may name a function. */
  readonly isBare: boolean
  /** In the filter, from 0. */
  readonly offset: number
}

/** A filter has at most as many characters. */
const maxFilterLength = 65_536

/** The words that the grammar gives a meaning. */
const keywords: ReadonlySet<string> = new Set(
  'and or not in is null true false like ilike between date timestamp'.split(' '),
)

/**
 * Printable ASCII outside of texts. A text has no backslash, which some parsers read as an escape, and no character that
 * is not shown: a reader of an audit record sees what the engine reads.
 */
const tokenGrammar =
  /(?<space>[ \t\r\n]+)|'(?<text>(?:[^'\\\p{C}\u2028\u2029]|'')*)'|`(?<quoted>[A-Za-z0-9_ -]{1,256})`|(?<word>[A-Za-z_][A-Za-z0-9_]{0,255})|\$(?<variable>[A-Za-z_][A-Za-z0-9_]{0,255}(?:\.[A-Za-z_][A-Za-z0-9_]{0,255})*)|(?<number>\d{1,18}(?:\.\d{1,18})?(?:[eE][+-]?\d{1,3})?)|(?<sign>==|<>|!=|<=|>=|[=<>(),.-])/uy

/** Splits a filter into tokens. Throws FilterError for a character that has no meaning in it, and for touching words. */
export function readTokens(filter: string): readonly FilterToken[] {
  if (filter.length > maxFilterLength)
    throw new FilterError(`it has ${filter.length} characters; expected at most ${maxFilterLength}`, 0)
  const tokens: FilterToken[] = []
  let offset = 0
  let touchesWord = false
  while (offset < filter.length) {
    tokenGrammar.lastIndex = offset
    const match = tokenGrammar.exec(filter)
    const token = match?.groups && toToken(match.groups, offset)
    if (match === null) {
      const character = String.fromCodePoint(filter.codePointAt(offset) ?? 0)
      const hint = character === '"' ? `; a text has single quotes, such as 'EU'` : ''
      throw new FilterError(`${JSON.stringify(character)} is not supported here${hint}`, offset)
    }
    // `x'41'` and `'a'b` are one word to some parsers.
    const isWord = token !== undefined && token.kind !== 'sign'
    if (isWord && touchesWord) throw new FilterError('expected a space before this word', offset)
    touchesWord = isWord
    if (token !== undefined) tokens.push(token)
    offset = tokenGrammar.lastIndex
  }
  return tokens
}

/** Returns undefined for white space. */
function toToken(
  groups: Readonly<Record<string, string | undefined>>,
  offset: number,
): FilterToken | undefined {
  const { text, quoted, word, variable, number, sign } = groups
  if (text !== undefined) return { kind: 'text', text: text.replaceAll("''", "'"), isBare: false, offset }
  if (quoted !== undefined) return { kind: 'name', text: quoted, isBare: false, offset }
  if (variable !== undefined) return { kind: 'variable', text: variable, isBare: false, offset }
  if (number !== undefined) return { kind: 'number', text: number, isBare: false, offset }
  if (sign !== undefined) return { kind: 'sign', text: otherSigns[sign] ?? sign, isBare: false, offset }
  if (word === undefined) return undefined
  const folded = word.toLowerCase()
  return keywords.has(folded)
    ? { kind: 'keyword', text: folded, isBare: true, offset }
    : { kind: 'name', text: word, isBare: true, offset }
}

const otherSigns: Readonly<Record<string, string>> = { '==': '=', '!=': '<>' }
