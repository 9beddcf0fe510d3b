import {
  comparableLiterals,
  filterFunctions,
  itemLiterals,
  type CallerVariable,
  type ColumnType,
  type ComparisonOperator,
  type FilterExpression,
  type FilterValue,
  type Literal,
  type LiteralType,
  type Operand,
} from './filter-expression.ts'

/** Returns the type of a column; `unknown` if it may be compared with any literal; undefined if there is no such column. */
export type FindColumn = (path: readonly string[]) => ColumnType | 'unknown' | undefined

export interface FilterGrammar {
  readonly findColumn: FindColumn
  /** Whether facts of the caller (`$principal.name`) may be operands. */
  readonly hasVariables: boolean
}

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

/**
 * Parses a filter by a grammar that is a small part of SQL: conditions on columns and literals, joined by AND, OR and
 * NOT. Everything else is refused, so that what `printFilter` prints can be given to an engine of any dialect. Throws
 * FilterError.
 */
export function parseFilter(filter: string, grammar: FilterGrammar): FilterExpression {
  const parser = new FilterParser(filter, grammar)
  const parsed = parser.parseOr()
  parser.expectEnd()
  assertLevels(parsed)
  return parsed
}

/** Parses a column or a function of one, as queries select them. Throws FilterError. */
export function parseColumnExpression(text: string, findColumn: FindColumn): FilterValue {
  const parser = new FilterParser(text, { findColumn, hasVariables: false })
  const value = parser.parseValue()
  parser.expectEnd()
  assertLevels({ kind: 'value', value })
  return value
}

interface FilterToken {
  /** `name`, `text`, `number` or `variable`; the folded spelling of a keyword or sign. */
  readonly kind: string
  /** What it holds; for a keyword or sign, its kind. */
  readonly text: string
  /** In the filter, from 0. */
  readonly offset: number
}

const maxFilterLength = 65_536
const maxConditions = 2_000
/** The parser recurses: a filter has at most as many parentheses and calls within each other. */
const maxNesting = 16

/** The kinds of tokens that are not keywords or signs. */
const kinds: ReadonlySet<string> = new Set(['name', 'text', 'number', 'variable'])

/** The words that the grammar gives a meaning. */
const keywords: ReadonlySet<string> = new Set(
  'and or not in is null true false like ilike between date timestamp'.split(' '),
)

const mirrored: Readonly<Record<ComparisonOperator, ComparisonOperator>> = {
  '=': '=',
  '<>': '<>',
  '<': '>',
  '<=': '>=',
  '>': '<',
  '>=': '<=',
}

const times = {
  date: { grammar: /^\d{4}-\d\d-\d\d$/, example: '2026-01-31' },
  timestamp: {
    grammar: /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d{1,9})?$/,
    example: '2026-01-31 12:00:00',
  },
}

class FilterParser {
  readonly #filter: string
  readonly #grammar: FilterGrammar
  readonly #tokens: readonly FilterToken[]
  #next = 0
  #nesting = 0
  #conditions = 0

  constructor(filter: string, grammar: FilterGrammar) {
    this.#filter = filter
    this.#grammar = grammar
    this.#tokens = readTokens(filter)
  }

  parseOr(): FilterExpression {
    return this.#parseChain('or', () => this.#parseChain('and', () => this.#parseNot()))
  }

  #parseChain(word: 'and' | 'or', parsePart: () => FilterExpression): FilterExpression {
    const parts = [parsePart()]
    while (this.#take(word)) parts.push(parsePart())
    return { kind: word, parts }
  }

  #parseNot(): FilterExpression {
    let isNegated = false
    while (this.#take('not')) isNegated = !isNegated
    const part = this.#parseCondition()
    return isNegated ? { kind: 'not', part } : part
  }

  #parseCondition(): FilterExpression {
    this.#conditions += 1
    if (this.#conditions > maxConditions) throw this.#error(`it has more than ${maxConditions} conditions`)
    if (this.#take('(')) {
      const parsed = this.#nested(() => this.parseOr())
      this.#expect(')')
      return parsed
    }
    return this.#following?.kind === 'name'
      ? this.#parseTest(this.parseValue())
      : this.#parseLiteralCondition()
  }

  /** Parses `true`, `false` or a literal that is compared with a column. */
  #parseLiteralCondition(): FilterExpression {
    const literal = this.#parseLiteral()
    const operator = this.#takeOperator()
    if (operator !== undefined) return this.#createComparison(this.parseValue(), mirrored[operator], literal)
    if (literal.type === 'boolean') return { kind: 'constant', value: literal.text === 'true' }
    throw this.#unexpected('a comparison')
  }

  #parseTest(value: FilterValue): FilterExpression {
    const operator = this.#takeOperator()
    if (operator !== undefined) return this.#createComparison(value, operator, this.#parseOperand())
    if (this.#take('is')) return this.#parseIs(value)
    const isNegated = this.#take('not') !== undefined
    if (this.#take('in')) return { kind: 'in', value, isNegated, operands: this.#parseOperands(value) }
    if (this.#take('between')) {
      const low = this.#comparable(value, this.#parseOperand())
      this.#expect('and')
      return { kind: 'between', value, isNegated, low, high: this.#comparable(value, this.#parseOperand()) }
    }
    const like = this.#take('like') ?? this.#take('ilike')
    if (like !== undefined) {
      this.#assertText(value, 'LIKE')
      const ignoresCase = like.text === 'ilike'
      return { kind: 'like', value, isNegated, ignoresCase, pattern: this.#expect('text').text }
    }
    if (isNegated) throw this.#unexpected('IN, BETWEEN or LIKE')
    if (value.type !== 'boolean') throw this.#unexpected('a comparison')
    return { kind: 'value', value }
  }

  #parseIs(value: FilterValue): FilterExpression {
    const isNegated = this.#take('not') !== undefined
    for (const what of value.type === 'boolean' ? (['null', 'true', 'false'] as const) : (['null'] as const))
      if (this.#take(what)) return { kind: 'is', value, isNegated, what }
    throw this.#unexpected('NULL')
  }

  /** Parses what follows IN: a list of literals and of facts of the caller, or one fact alone. */
  #parseOperands(value: FilterValue): readonly Operand[] {
    if (this.#following?.kind === 'variable') return [this.#comparable(value, this.#parseOperand())]
    const operands: Operand[] = []
    this.#expect('(')
    do operands.push(this.#comparable(value, this.#parseOperand()))
    while (this.#take(','))
    this.#expect(')')
    return operands
  }

  #createComparison(value: FilterValue, operator: ComparisonOperator, operand: Operand): FilterExpression {
    return { kind: 'comparison', operator, value, operand: this.#comparable(value, operand) }
  }

  /** Throws FilterError unless a value is compared with an operand of its type. */
  #comparable(value: FilterValue, operand: Operand): Operand {
    const literal: LiteralType = operand.kind === 'variable' ? 'text' : operand.type
    if (value.type === 'unknown' || comparableLiterals[value.type].includes(literal)) return operand
    throw this.#error(`a column of the type ${value.type} cannot be compared with a ${literal} here`)
  }

  /** Parses a column or a function of one. */
  parseValue(): FilterValue {
    const first = this.#expect('name')
    if (this.#filter[first.offset] !== '`' && this.#take('('))
      return this.#nested(() => this.#parseCall(first))
    const path = [first.text]
    while (this.#take('.')) path.push(this.#expect('name').text)
    const type = this.#grammar.findColumn(path)
    if (type !== undefined) return { kind: 'column', path, type }
    throw new FilterError(`there is no column ${JSON.stringify(path.join('.'))}`, first.offset)
  }

  #parseCall({ text, offset }: FilterToken): FilterValue {
    const name = text.toLowerCase()
    const called = Object.hasOwn(filterFunctions, name) ? filterFunctions[name] : undefined
    if (called === undefined) {
      const known = Object.keys(filterFunctions).join(', ')
      throw new FilterError(`the function ${name} is not supported; expected one of ${known}`, offset)
    }
    const value = this.parseValue()
    if (called.of === 'text') this.#assertText(value, name)
    else if (value.type !== 'unknown' && itemLiterals[value.type] === undefined)
      throw this.#error(`${name} is for lists`)
    const parsed: (FilterValue | Literal)[] = [value]
    if (called.literal !== undefined) {
      this.#expect(',')
      parsed.push(called.literal === 'text' ? this.#parseText() : this.#parseItem(value, name))
    }
    this.#expect(')')
    return { kind: 'call', name, arguments: parsed, type: called.type }
  }

  #parseText(): Literal {
    return { kind: 'literal', type: 'text', text: this.#expect('text').text }
  }

  #parseItem({ type }: FilterValue, name: string): Literal {
    const item = this.#parseLiteral()
    if (type === 'unknown' || item.type === itemLiterals[type]) return item
    throw this.#error(`${name} needs an item of the list`)
  }

  #assertText({ type }: FilterValue, user: string): void {
    if (type !== 'unknown' && type !== 'text') throw this.#error(`${user} is for columns of the type text`)
  }

  /** Parses a literal, or a fact of the caller if there may be one. */
  #parseOperand(): Operand {
    if (this.#following?.kind !== 'variable') return this.#parseLiteral()
    if (!this.#grammar.hasVariables) throw this.#unexpected('a literal')
    const { text } = this.#expect('variable')
    const variable = readVariable(text)
    if (variable !== undefined) return variable
    const expected = '$principal.name, $principal.groups or $principal.claims.NAME'
    throw this.#error(`$${text} is unknown; expected ${expected}`)
  }

  #parseLiteral(): Literal {
    const minus = this.#take('-')
    const number = this.#take('number')
    if (number !== undefined)
      return { kind: 'literal', type: 'number', text: `${minus?.text ?? ''}${number.text}` }
    if (minus !== undefined) throw this.#unexpected('a number')
    if (this.#following?.kind === 'text') return this.#parseText()
    const truth = this.#take('true') ?? this.#take('false')
    if (truth !== undefined) return { kind: 'literal', type: 'boolean', text: truth.text }
    for (const type of ['date', 'timestamp'] as const) if (this.#take(type)) return this.#parseTime(type)
    // Double quotes and backticks make a name in SQL.
    const isName = this.#following?.kind === 'name'
    throw this.#unexpected(isName ? "a literal, such as 'EU' in single quotes" : 'a literal')
  }

  #parseTime(type: 'date' | 'timestamp'): Literal {
    const { text, offset } = this.#expect('text')
    const { grammar, example } = times[type]
    if (!grammar.test(text)) throw new FilterError(`expected a ${type} such as '${example}'`, offset)
    return { kind: 'literal', type, text }
  }

  /** Parses what is in parentheses. */
  #nested<Parsed>(parse: () => Parsed): Parsed {
    this.#nesting += 1
    if (this.#nesting > maxNesting) throw this.#error(`it is nested deeper than ${maxNesting} levels`)
    const parsed = parse()
    this.#nesting -= 1
    return parsed
  }

  /** The token that is read next; undefined at the end. */
  get #following(): FilterToken | undefined {
    return this.#tokens[this.#next]
  }

  /** Reads the next token if it is of this kind. */
  #take(kind: string): FilterToken | undefined {
    const token = this.#following
    if (token?.kind !== kind) return undefined
    this.#next += 1
    return token
  }

  #takeOperator(): ComparisonOperator | undefined {
    const kind = this.#following?.kind ?? ''
    return isComparisonOperator(kind) && this.#take(kind) ? kind : undefined
  }

  #expect(kind: string): FilterToken {
    const token = this.#take(kind)
    if (token !== undefined) return token
    throw this.#unexpected(kinds.has(kind) ? `a ${kind}` : JSON.stringify(kind.toUpperCase()))
  }

  expectEnd(): void {
    if (this.#following !== undefined) throw this.#unexpected('the end, AND or OR')
  }

  /** An error about the next token. */
  #unexpected(expected: string): FilterError {
    const next = this.#following
    const found = next === undefined ? 'the end' : JSON.stringify(next.text)
    return new FilterError(`expected ${expected}, found ${found}`, next?.offset ?? this.#filter.length)
  }

  /** An error about the token that was read last. */
  #error(message: string): FilterError {
    return new FilterError(message, this.#tokens[this.#next - 1]?.offset ?? 0)
  }
}

function isComparisonOperator(text: string): text is ComparisonOperator {
  return Object.hasOwn(mirrored, text)
}

/** Reads the name of a fact of the caller, without `$`. Returns undefined if there is none of this name. */
function readVariable(text: string): CallerVariable | undefined {
  const path = text.split('.')
  const isKnown =
    text === 'principal.name' ||
    text === 'principal.groups' ||
    (path.length === 3 && text.startsWith('principal.claims.'))
  return isKnown ? { kind: 'variable', path } : undefined
}

/**
 * Printable ASCII outside of texts. A text has no backslash, which some parsers read as an escape, and no character that
 * is not shown: a reader of an audit record sees what the engine reads.
 */
const tokenGrammar =
  /(?<space>[ \t\r\n]+)|'(?<text>(?:[^'\\\p{C}\u2028\u2029]|'')*)'|`(?<quoted>[A-Za-z0-9_ -]{1,256})`|(?<word>[A-Za-z_][A-Za-z0-9_]{0,255})|\$(?<variable>[A-Za-z_][A-Za-z0-9_]{0,255}(?:\.[A-Za-z_][A-Za-z0-9_]{0,255})*)|(?<number>\d{1,18}(?:\.\d{1,18})?(?:[eE][+-]?\d{1,3})?)|(?<sign>==|<>|!=|<=|>=|[=<>(),.-])/uy

/** Splits a filter into tokens. Throws FilterError for a character that has no meaning in it, and for touching words. */
function readTokens(filter: string): readonly FilterToken[] {
  if (filter.length > maxFilterLength)
    throw new FilterError(`it has ${filter.length} characters; expected at most ${maxFilterLength}`, 0)
  const tokens: FilterToken[] = []
  let touchesWord = false
  for (let offset = 0; offset < filter.length; offset = tokenGrammar.lastIndex) {
    tokenGrammar.lastIndex = offset
    const match = tokenGrammar.exec(filter)
    if (match === null) {
      const character = String.fromCodePoint(filter.codePointAt(offset) ?? 0)
      const hint = character === '"' ? `; a text has single quotes, such as 'EU'` : ''
      throw new FilterError(`${JSON.stringify(character)} is not supported here${hint}`, offset)
    }
    const token = createToken(match.groups ?? {}, offset)
    // `x'41'` and `'a'b` are one word to some parsers.
    const isWord = token !== undefined && match.groups?.['sign'] === undefined
    if (isWord && touchesWord) throw new FilterError('expected a space before this word', offset)
    touchesWord = isWord
    if (token !== undefined) tokens.push(token)
  }
  return tokens
}

/** Returns undefined for white space. */
function createToken(
  { text, quoted, word, variable, number, sign }: Readonly<Record<string, string | undefined>>,
  offset: number,
): FilterToken | undefined {
  if (text !== undefined) return { kind: 'text', text: text.replaceAll("''", "'"), offset }
  if (quoted !== undefined) return { kind: 'name', text: quoted, offset }
  if (variable !== undefined) return { kind: 'variable', text: variable, offset }
  if (number !== undefined) return { kind: 'number', text: number, offset }
  const folded = sign === undefined ? word?.toLowerCase() : (otherSigns[sign] ?? sign)
  if (folded === undefined) return undefined
  if (word !== undefined && !keywords.has(folded)) return { kind: 'name', text: word, offset }
  return { kind: folded, text: folded, offset }
}

const otherSigns: Readonly<Record<string, string>> = { '==': '=', '!=': '<>' }

/**
 * Engines recurse over what is printed. The SQL parser of DataFusion takes 50 levels and needs two for each level here;
 * the others are for a comparison, for the condition on rows that is added, and for parentheses of the catalog.
 */
const maxLevels = 16

/** Throws FilterError for a filter that is too deep for engines. */
function assertLevels(expression: FilterExpression): void {
  const levels = countLevels(expression)
  if (levels <= maxLevels) return
  const counted = 'NOT has one, a function two, and a chain of 1000 conditions ten'
  throw new FilterError(`it has ${levels} levels; expected at most ${maxLevels}: ${counted}`, 0)
}

/** Counts AND and OR as the trees that are printed. */
function countLevels(expression: FilterExpression): number {
  if ('parts' in expression)
    return Math.ceil(Math.log2(expression.parts.length)) + Math.max(...expression.parts.map(countLevels))
  if ('part' in expression) return 1 + countLevels(expression.part)
  // The parsers of engines may need exponential time for calls within each other.
  return expression.kind === 'constant' ? 0 : countCalls(expression.value) * 2
}

function countCalls(value: FilterValue | Literal): number {
  return value.kind === 'call' ? 1 + Math.max(...value.arguments.map(countCalls)) : 0
}
