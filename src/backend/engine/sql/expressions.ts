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
 * InvalidInput for unbalanced brackets, and for an expression too deep for the engine.
 */
export function parenthesizeExpression(sql: string): string {
  const { chain, operators, calls } = measureSql(sql)
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

/** Upper bounds for the cost of a SQL text in stack and parser time of the engine. */
interface SqlSize {
  /**
   * An upper bound for the nesting: the most tokens in a bracket and the brackets around it, without values of lists.
   */
  readonly chain: number
  /** The most value-computing operators in a bracket and the brackets around it, without AND or OR between them. */
  readonly operators: number
  /** The nesting depth of calls (a word followed by a bracket). */
  readonly calls: number
}

/** The whole text, or the content of one bracket. */
interface BracketGroup {
  readonly closing: string | undefined
  readonly isCall: boolean
  /** Tokens of the completed items that may contain nested ones. */
  nestableTokens: number
  /** Tokens of the current item. */
  itemTokens: number
  /** Value-computing operators since the last AND, OR or comma, and their maximum. */
  operatorRun: number
  longestRun: number
  /** The maxima of the nested brackets. */
  chain: number
  operators: number
  calls: number
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

/** Throws InvalidInput (400) for unbalanced brackets, and for text that the engine might tokenize differently. */
function measureSql(sql: string): SqlSize {
  const outer: BracketGroup[] = []
  let group = openGroup(undefined, false)
  let before: Token = { kind: 'blank', text: '' }
  let lastToken: Token = before
  for (const token of readTokens(sql)) {
    const { kind, text } = token
    assertUnambiguous(before, token)
    before = token
    if (kind === 'blank') continue
    const closing = closings.get(text)
    if (closing !== undefined) {
      group.itemTokens += 1
      outer.push(group)
      group = openGroup(closing, isCallee(lastToken))
    } else if (kind === 'bracket') {
      const enclosing = outer.pop()
      if (enclosing === undefined || text !== group.closing) throw unmatchedBracketError(text)
      const inner = measureGroup(group)
      enclosing.chain = Math.max(enclosing.chain, inner.chain)
      enclosing.operators = Math.max(enclosing.operators, inner.operators)
      enclosing.calls = Math.max(enclosing.calls, inner.calls)
      group = enclosing
    } else if (text === ',') {
      endItem(group)
    } else {
      group.itemTokens += 1
      if (kind === 'word' && /^(and|or)$/i.test(text)) endRun(group)
      else if (kind === 'operator' && !comparisons.has(text)) group.operatorRun += 1
    }
    lastToken = token
  }
  if (group.closing !== undefined) throw invalidInput(`the SQL lacks ${JSON.stringify(group.closing)}`)
  return measureGroup(group)
}

function openGroup(closing: string | undefined, isCall: boolean): BracketGroup {
  return {
    closing,
    isCall,
    nestableTokens: 0,
    itemTokens: 0,
    operatorRun: 0,
    longestRun: 0,
    chain: 0,
    operators: 0,
    calls: 0,
  }
}

function endItem(group: BracketGroup): void {
  if (group.itemTokens > maxTokensOfValue) group.nestableTokens += group.itemTokens
  group.itemTokens = 0
  endRun(group)
}

function endRun(group: BracketGroup): void {
  group.longestRun = Math.max(group.longestRun, group.operatorRun)
  group.operatorRun = 0
}

function measureGroup(group: BracketGroup): SqlSize {
  endItem(group)
  const isBracket = group.closing !== undefined
  return {
    chain: group.nestableTokens + group.chain + (isBracket ? 1 : 0),
    operators: group.longestRun + group.operators,
    calls: group.calls + (group.isCall ? 1 : 0),
  }
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
