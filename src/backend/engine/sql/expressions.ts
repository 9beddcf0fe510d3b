import { invalidInput, type CatalogError } from 'catalog-gateway/catalog-api'

/** The engine recurses over a chain of words, values and operators in quadratic time: 750 conditions joined by OR. */
const maxChain = 3000
/** The engine derives the types of operators again on every level: a sum of 1,500 columns took 18 s. */
const maxOperators = 300
/** The maximum nesting of calls: the engine's parser parses a wrong argument twice on each level. */
const maxCallDepth = 10

/**
 * The engine parses the first expression of a text and ignores the rest, so `id = 1, id = 2` would delete by half of
 * it; within parentheses that the text cannot close, nothing may follow. A line break ends a trailing comment. Throws
 * InvalidInput for unbalanced brackets, for text that the engine might tokenize differently, and for an expression too deep
 * for the engine.
 */
export function parenthesizeExpression(sql: string): string {
  const { chain, operators, calls } = measureSql(sql)
  if (chain > maxChain) {
    throw invalidInput(
      `the SQL is a chain of ${chain} words, values and operators; expected at most ${maxChain}: ` +
        'use IN (...) for many values',
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

/** The whole text, or the content of one bracket. */
interface Group {
  readonly closing: string | undefined
  /** The calls around it, a word followed by a bracket each. */
  readonly calls: number
  /** Tokens and value-computing operators of the current item of its list. */
  tokens: number
  operators: number
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
 * Measures upper bounds for the cost of a SQL text in stack and parser time of the engine. `chain` is the nesting: the
 * number of all tokens but plain values in lists, and of brackets in each other. `operators` is the most value-computing
 * operators without AND or OR between them outside of brackets.
 */
function measureSql(sql: string): { chain: number; operators: number; calls: number } {
  const outer: Group[] = []
  let group: Group = { closing: undefined, calls: 0, tokens: 0, operators: 0 }
  const size = { chain: 0, operators: 0, calls: 0 }
  let depth = 0
  let run = 0
  let before: Token = { kind: 'blank', text: '' }
  let lastToken: Token = before
  const endItem = (): void => {
    if (group.tokens > maxTokensOfValue) {
      size.chain += group.tokens
      run += group.operators
    }
    size.operators = Math.max(size.operators, run)
    group.tokens = 0
    group.operators = 0
  }
  for (const token of readTokens(sql)) {
    const { kind, text } = token
    assertUnambiguous(before, token)
    before = token
    if (kind === 'blank') continue
    if (text === ',') endItem()
    else if (kind !== 'bracket') group.tokens += 1
    const closing = closings.get(text)
    if (closing !== undefined) {
      group.tokens += 1
      outer.push(group)
      const calls = group.calls + (isCallee(lastToken) ? 1 : 0)
      group = { closing, calls, tokens: 0, operators: 0 }
      depth = Math.max(depth, outer.length)
      size.calls = Math.max(size.calls, calls)
    } else if (kind === 'bracket') {
      const enclosing = outer.pop()
      if (enclosing === undefined || text !== group.closing) throw unmatchedBracketError(text)
      endItem()
      group = enclosing
    } else if (kind === 'operator' && text !== ',' && !comparisons.has(text)) {
      group.operators += 1
    } else if (outer.length === 0 && kind === 'word' && /^(and|or)$/i.test(text)) {
      size.operators = Math.max(size.operators, run + group.operators)
      run = 0
      group.operators = 0
    }
    lastToken = token
  }
  if (group.closing !== undefined) throw invalidInput(`the SQL lacks ${JSON.stringify(group.closing)}`)
  endItem()
  return { ...size, chain: size.chain + depth }
}

function isCallee({ kind, text }: Token): boolean {
  return kind === 'quoted' || (kind === 'word' && !operatorWords.has(text.toLowerCase()))
}

function assertUnambiguous(before: Token, { kind, text }: Token): void {
  if (kind === 'quoted' && before.kind === 'word') {
    // Some words change the rules of the string after them: r'''it's'''.
    throw invalidInput('the SQL has a quote directly after a word; put a space between them')
  }
  if (before.text === '/' && text === '*') {
    // After some operators the engine reads them as two more operators.
    throw invalidInput('the SQL has a /* comment; use -- comments')
  }
}

/** Throws InvalidInput (400) for text that the engine might tokenize differently. */
export function* readTokens(sql: string): Generator<Token> {
  for (let index = 0; index < sql.length; index = tokenPattern.lastIndex) {
    tokenPattern.lastIndex = index
    const match = tokenPattern.exec(sql)
    if (match === null) throw unreadableSqlError(sql.charAt(index))
    yield { kind: tokenKinds[match.indexOf(match[0], 1) - 1]?.[0] ?? 'operator', text: match[0] }
  }
}

function unreadableSqlError(character: string): CatalogError {
  const isQuote = /['"`]/.test(character)
  return invalidInput(
    isQuote
      ? `unterminated ${character} in the SQL`
      : `unquoted ${character} in the SQL; put such names in backticks`,
  )
}

function unmatchedBracketError(bracket: string): CatalogError {
  return invalidInput(`unmatched ${JSON.stringify(bracket)} in the SQL`)
}
