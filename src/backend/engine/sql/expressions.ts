import { invalidInput } from 'catalog-gateway/catalog-api'

/** The engine recurses over a chain of words, values and operators in quadratic time: 750 conditions joined by OR. */
const maxChain = 3000
/** The engine derives the types of operators again on every level: a sum of 1,500 columns took 18 s. */
const maxOperators = 300
/** The maximum nesting of calls: the engine's parser parses a wrong argument twice on each level. */
const maxCallDepth = 10
/** The maximum nesting of brackets, which are measured recursively. */
const maxBracketDepth = 1000

/**
 * The engine parses the first expression of a text and ignores the rest, so `id = 1, id = 2` would delete by half of
 * it; within parentheses that the text cannot close, nothing may follow. A line break ends a trailing comment. Throws
 * InvalidInput for unbalanced brackets, and for an expression too deep for the engine.
 */
export function parenthesizeExpression(sql: string): string {
  const { chain, operators, calls } = measureBracket(readTokens(sql), undefined, 0)
  if (chain > maxChain) {
    throw invalidInput(
      `the SQL is a chain of ${chain} words, values and operators; expected at most ${maxChain}: ` +
        'use IN (...) for many values, or group conditions with parentheses',
    )
  }
  if (operators > maxOperators) {
    throw invalidInput(
      `the SQL computes a value with ${operators} operators; expected at most ${maxOperators} between AND and OR`,
    )
  }
  if (calls > maxCallDepth) {
    throw invalidInput(`the SQL nests ${calls} calls; expected at most ${maxCallDepth}`)
  }
  return sql.includes('--') ? `(${sql}\n)` : `(${sql})`
}

/** Like `parenthesizeExpression`, for an optional condition; an empty one counts as absent. */
export function parenthesizeCondition(sql: string | undefined): string | null {
  return sql ? parenthesizeExpression(sql) : null
}

interface Token {
  readonly kind: (typeof tokenKinds)[number][0]
  readonly text: string
}

/** A list item with at most this many tokens is a plain value, perhaps with a sign or type, or a call. */
const maxTokensOfValue = 2
/** Comparisons do not compute values that other operators use. */
const comparisons = new Set(['=', '<', '>', '!'])
const closings: ReadonlyMap<string, string> = new Map([
  ['(', ')'],
  ['[', ']'],
  ['{', '}'],
])
/** Words before a bracket that are not calls. */
const operatorWords = new Set(['and', 'or', 'not', 'in', 'like', 'between', 'when', 'then', 'else'])

/** The tokens of sqlparser 0.61: quotes doubled within quotes, no backslash escapes. Ambiguous text matches none. */
const tokenKinds = [
  ['blank', String.raw`\s+|--[^\n]*`],
  ['value', String.raw`[xX]'[\da-fA-F]*'`],
  ['quoted', String.raw`(?:'[^']*')+|(?:"[^"]*")+|(?:\x60[^\x60]*\x60)+`],
  // The engine takes any character after a leading @ or # as part of the word, even a bracket.
  ['word', String.raw`(?:[\p{Alphabetic}\p{N}_]|(?<=\d)\.(?=\d)|[@#](?=[\p{Alphabetic}\p{N}_]))+`],
  ['bracket', String.raw`[()[\]{}]`],
  // Dollars can start a string with custom delimiters.
  ['operator', '[^\'"`@#$]'],
] as const
const tokenPattern = new RegExp(tokenKinds.map(([, pattern]) => `(${pattern})`).join('|'), 'uy')

/**
 * Upper bounds for the cost of the tokens up to a closing bracket, or up to the end, in stack and parser time of the engine.
 * `chain`: the nesting, by the most tokens in a bracket and the brackets around it, without values of lists. `operators`:
 * the most that compute values there, without AND or OR between them. `calls`: their nesting. Throws InvalidInput (400) for
 * unbalanced brackets.
 */
function measureBracket(tokens: Iterator<Token, undefined>, closing: string | undefined, depth: number) {
  if (depth > maxBracketDepth)
    throw invalidInput(`the SQL nests more than ${maxBracketDepth} brackets; expected fewer`)
  const inner = { chain: 0, operators: 0, calls: 0 }
  let chain = 0
  let itemTokens = 0
  let run = 0
  let longestRun = 0
  const endRun = (): void => {
    longestRun = Math.max(longestRun, run)
    run = 0
  }
  const endItem = (): void => {
    if (itemTokens > maxTokensOfValue) chain += itemTokens
    itemTokens = 0
    endRun()
  }
  let before: Token | undefined
  for (let token = tokens.next().value; token?.text !== closing; token = tokens.next().value) {
    if (token === undefined) throw invalidInput(`the SQL lacks ${JSON.stringify(closing)}`)
    const { kind, text } = token
    const innerClosing = closings.get(text)
    if (text !== ',') itemTokens += 1
    if (innerClosing !== undefined) {
      const found = measureBracket(tokens, innerClosing, depth + 1)
      inner.chain = Math.max(inner.chain, found.chain + 1)
      inner.operators = Math.max(inner.operators, found.operators)
      inner.calls = Math.max(inner.calls, found.calls + (isCallee(before) ? 1 : 0))
    } else if (kind === 'bracket') throw invalidInput(`unmatched ${JSON.stringify(text)} in the SQL`)
    else if (text === ',') endItem()
    else if (kind === 'word' && /^(and|or)$/i.test(text)) endRun()
    else if (kind === 'operator' && !comparisons.has(text)) run += 1
    before = token
  }
  endItem()
  return { chain: chain + inner.chain, operators: longestRun + inner.operators, calls: inner.calls }
}

function isCallee(token: Token | undefined): boolean {
  return token?.kind === 'quoted' || (token?.kind === 'word' && !operatorWords.has(token.text.toLowerCase()))
}

/** Yields all tokens but blanks. Throws InvalidInput (400) for text that the engine might tokenize differently. */
export function* readTokens(sql: string): Generator<Token, undefined> {
  let before: Token | undefined
  for (let index = 0; index < sql.length; index = tokenPattern.lastIndex) {
    tokenPattern.lastIndex = index
    const match = tokenPattern.exec(sql)
    if (match === null) {
      const character = sql.charAt(index)
      if (/['"`]/.test(character)) throw invalidInput(`unterminated ${character} in the SQL`)
      throw invalidInput(`unquoted ${character} in the SQL; put such names in backticks`)
    }
    const kind = tokenKinds[match.indexOf(match[0], 1) - 1]?.[0] ?? 'operator'
    const token = { kind, text: match[0] }
    assertUnambiguous(before, token)
    before = token
    if (kind !== 'blank') yield token
  }
  return undefined
}

function assertUnambiguous(before: Token | undefined, { kind, text }: Token): void {
  if (kind === 'quoted' && before?.kind === 'word') {
    // Some words change the rules of the string after them: r'''it's'''.
    throw invalidInput('the SQL has a quote directly after a word; put a space between them')
  }
  if (before?.text === '/' && text === '*') {
    // After some operators the engine reads them as two more operators.
    throw invalidInput('the SQL has a /* comment; use -- comments')
  }
}
