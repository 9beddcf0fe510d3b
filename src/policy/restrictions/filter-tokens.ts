/** A filter that the grammar does not have. The message continues `the filter ...:`, and is safe to show to its author. */
export class FilterError extends Error {
  override readonly name = 'FilterError'
  /** In the filter, from 0. */
  readonly offset: number

  constructor(message: string, offset: number) {
    super(message)
    this.offset = offset
  }
}

export interface FilterToken {
  /** `name`, `text`, `number` or `variable`; the folded spelling of a keyword or sign. */
  readonly kind: string
  /** Its content; for a keyword or sign, its kind. */
  readonly text: string
  /** In the filter, from 0. */
  readonly offset: number
}

const maxFilterLength = 65_536

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
  let touchesWord = false
  for (let offset = 0; offset < filter.length; offset = tokenGrammar.lastIndex) {
    tokenGrammar.lastIndex = offset
    const groups = tokenGrammar.exec(filter)?.groups
    if (groups === undefined) {
      const character = String.fromCodePoint(filter.codePointAt(offset) ?? 0)
      const hint = character === '"' ? `; a text has single quotes, such as 'EU'` : ''
      throw new FilterError(`${JSON.stringify(character)} is not supported here${hint}`, offset)
    }
    const { space, sign } = groups
    // `x'41'` and `'a'b` are one word to some parsers.
    const isWord = space === undefined && sign === undefined
    if (isWord && touchesWord) throw new FilterError('expected a space before this word', offset)
    touchesWord = isWord
    if (space === undefined) tokens.push({ ...readToken(groups), offset })
  }
  return tokens
}

function readToken(groups: Readonly<Record<string, string | undefined>>): Omit<FilterToken, 'offset'> {
  const { text, quoted, word = '', variable, number, sign } = groups
  if (text !== undefined) return { kind: 'text', text: text.replaceAll("''", "'") }
  if (quoted !== undefined) return { kind: 'name', text: quoted }
  if (variable !== undefined) return { kind: 'variable', text: variable }
  if (number !== undefined) return { kind: 'number', text: number }
  const folded = sign === undefined ? word.toLowerCase() : (otherSigns[sign] ?? sign)
  return sign !== undefined || keywords.has(folded)
    ? { kind: folded, text: folded }
    : { kind: 'name', text: word }
}

const otherSigns: Readonly<Record<string, string>> = { '==': '=', '!=': '<>' }
