import {
  comparableLiterals,
  filterFunctions,
  itemTypes,
  joinBalanced,
  quoteText,
  type CallerVariable,
  type ColumnType,
  type FilterExpression,
} from './filter-expression.ts'
import { FilterError, readTokens, type FilterToken } from './filter-tokens.ts'

/** Returns the type of a column; `unknown` if it may be compared with any literal; undefined if there is no such column. */
export type FindColumn = (path: readonly string[]) => ColumnType | 'unknown' | undefined

export interface FilterGrammar {
  readonly findColumn: FindColumn
  /** Whether facts of the caller (`$principal.name`) may be operands. */
  readonly hasVariables: boolean
}

/**
 * Parses a filter by a grammar that is a small part of SQL: conditions on columns and literals, joined by AND, OR and
 * NOT. Everything else is refused, and the rest printed anew, so that it can be given to an engine of any dialect. Throws
 * FilterError.
 */
export function parseFilter(filter: string, grammar: FilterGrammar): FilterExpression {
  const parser = new FilterParser(filter, grammar)
  const { printed, levels } = parser.parseOr()
  parser.expectEnd(levels)
  return printed
}

/** Parses a column or a function of one, as queries select them, and prints it anew. Throws FilterError. */
export function parseColumnExpression(text: string, findColumn: FindColumn): string {
  const parser = new FilterParser(text, { findColumn, hasVariables: false })
  const { printed, levels } = parser.parseValue()
  parser.expectEnd(levels)
  return printed
}

/** Something that is true or false of a row, as it is printed. */
interface Condition {
  readonly printed: FilterExpression
  /** What engines recurse over: AND and OR are printed as balanced trees. */
  readonly levels: number
}

/** Something with one value a row: a column, or a function of one. */
interface Value {
  readonly printed: string
  readonly type: ColumnType | 'unknown'
  readonly levels: number
}

interface Literal<Printed = string> {
  readonly printed: Printed
  readonly type: ColumnType
}

const maxConditions = 2_000
/** The parser recurses: a filter has at most as many parentheses and calls within each other. */
const maxNesting = 16
/**
 * The SQL parser of DataFusion takes 50 levels and needs two for each level here; the others are for a comparison, for the
 * condition on rows that is added, and for parentheses of the catalog.
 */
const maxLevels = 16
/** The parsers of engines may need exponential time for calls within each other. */
const levelsOfCall = 2

/** Comparisons, with the one of the same meaning if a literal is on the left. */
const mirrored: Readonly<Record<string, string>> = {
  '=': '=',
  '<>': '<>',
  '<': '>',
  '<=': '>=',
  '>': '<',
  '>=': '<=',
}

const times = [
  { type: 'date', grammar: /^\d{4}-\d\d-\d\d$/, example: '2026-01-31' },
  {
    type: 'timestamp',
    grammar: /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d{1,9})?$/,
    example: '2026-01-31 12:00:00',
  },
] as const

/** The kinds of tokens that are not keywords or signs. */
const kinds: ReadonlySet<string> = new Set(['name', 'text', 'number', 'variable'])

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

  parseOr(): Condition {
    return this.#parseChain('or', () => this.#parseChain('and', () => this.#parseNot()))
  }

  #parseChain(word: 'and' | 'or', parsePart: () => Condition): Condition {
    const parts = [parsePart()]
    while (this.#take(word)) parts.push(parsePart())
    const printed = joinBalanced(
      parts.map((part) => part.printed),
      word.toUpperCase(),
    )
    const levels = Math.ceil(Math.log2(parts.length)) + Math.max(...parts.map((part) => part.levels))
    return { printed, levels }
  }

  #parseNot(): Condition {
    let isNegated = false
    while (this.#take('not')) isNegated = !isNegated
    const part = this.#parseCondition()
    return isNegated ? { printed: ['(NOT ', ...part.printed, ')'], levels: part.levels + 1 } : part
  }

  #parseCondition(): Condition {
    this.#conditions += 1
    if (this.#conditions > maxConditions) throw this.#error(`it has more than ${maxConditions} conditions`)
    if (this.#take('(')) {
      const parsed = this.#nested(() => this.parseOr())
      this.#expect(')')
      return parsed
    }
    if (this.#following?.kind === 'name') return this.#parseTest(this.parseValue())
    const literal = this.#parseLiteral()
    const operator = mirrored[this.#takeOperator() ?? '']
    if (operator !== undefined) {
      const value = this.parseValue()
      return printTest(value, `${operator} `, this.#comparable(value, literal))
    }
    if (literal.type !== 'boolean') throw this.#unexpected('a comparison')
    return { printed: [literal.printed], levels: 0 }
  }

  #parseTest(value: Value): Condition {
    const operator = this.#takeOperator()
    if (operator !== undefined) return printTest(value, `${operator} `, this.#parseOperand(value))
    if (this.#take('is')) return this.#parseIs(value)
    const isNegated = this.#take('not') !== undefined
    const not = isNegated ? 'NOT ' : ''
    if (this.#take('in')) return this.#parseIn(value, isNegated)
    if (this.#take('between')) {
      const low = this.#parseOperand(value)
      this.#expect('and')
      return printTest(value, `${not}BETWEEN `, low, ' AND ', this.#parseOperand(value))
    }
    const like = this.#take('like') ?? this.#take('ilike')
    if (like !== undefined) {
      this.#assertType(value, 'text', 'LIKE')
      return printTest(value, `${not}${like.text.toUpperCase()} `, this.#parseText().printed)
    }
    if (isNegated) throw this.#unexpected('IN, BETWEEN or LIKE')
    if (value.type !== 'boolean') throw this.#unexpected('a comparison')
    return { printed: [value.printed], levels: value.levels }
  }

  #parseIs(value: Value): Condition {
    const not = this.#take('not') ? 'NOT ' : ''
    for (const what of value.type === 'boolean' ? ['null', 'true', 'false'] : ['null'])
      if (this.#take(what)) return printTest(value, `IS ${not}${what.toUpperCase()}`)
    throw this.#unexpected('NULL')
  }

  /** Parses what follows IN: a list of literals and of facts of the caller, or one fact alone. */
  #parseIn(value: Value, isNegated: boolean): Condition {
    const operands: (string | CallerVariable)[] = []
    if (this.#following?.kind === 'variable') operands.push(this.#parseOperand(value))
    else {
      this.#expect('(')
      do operands.push(this.#parseOperand(value))
      while (this.#take(','))
      this.#expect(')')
    }
    return { printed: [{ value: value.printed, isNegated, operands }], levels: value.levels }
  }

  /** Parses a literal, or a fact of the caller if there may be one, that the value may be compared with. */
  #parseOperand(value: Value): string | CallerVariable {
    return this.#following?.kind === 'variable'
      ? this.#comparable(value, this.#parseVariable())
      : this.#comparable(value, this.#parseLiteral())
  }

  /** Throws FilterError unless a value is compared with an operand of its type. */
  #comparable<Printed>({ type }: Value, operand: Literal<Printed>): Printed {
    if (type === 'unknown' || comparableLiterals[type].some((literal) => literal === operand.type))
      return operand.printed
    throw this.#error(`a column of the type ${type} cannot be compared with a ${operand.type} here`)
  }

  /** Parses a column or a function of one. */
  parseValue(): Value {
    const first = this.#expect('name')
    if (this.#filter[first.offset] !== '`' && this.#take('('))
      return this.#nested(() => this.#parseCall(first))
    const path = [first.text]
    while (this.#take('.')) path.push(this.#expect('name').text)
    const type = this.#grammar.findColumn(path)
    if (type !== undefined) return { printed: path.map((name) => `\`${name}\``).join('.'), type, levels: 0 }
    throw new FilterError(`there is no column ${JSON.stringify(path.join('.'))}`, first.offset)
  }

  #parseCall({ text, offset }: FilterToken): Value {
    const name = text.toLowerCase()
    const called = Object.hasOwn(filterFunctions, name) ? filterFunctions[name] : undefined
    if (called === undefined) {
      const known = Object.keys(filterFunctions).join(', ')
      throw new FilterError(`the function ${name} is not supported; expected one of ${known}`, offset)
    }
    const value = this.parseValue()
    this.#assertType(value, called.of, name)
    let printed = `${name}(${value.printed}`
    if (called.hasLiteral) {
      this.#expect(',')
      const literal = called.of === 'text' ? this.#parseText() : this.#parseLiteral()
      if (called.of === 'list' && value.type !== 'unknown' && literal.type !== itemTypes[value.type])
        throw this.#error(`${name} needs an item of the list`)
      printed += `, ${literal.printed}`
    }
    this.#expect(')')
    return { printed: `${printed})`, type: called.type, levels: value.levels + levelsOfCall }
  }

  /** Throws FilterError for a value that is no text, or no list. */
  #assertType({ type }: Value, expected: 'text' | 'list', user: string): void {
    const isRight = expected === 'text' ? type === 'text' : itemTypes[type] !== undefined
    const what = expected === 'text' ? 'columns of the type text' : 'lists'
    if (type !== 'unknown' && !isRight) throw this.#error(`${user} is for ${what}`)
  }

  #parseVariable(): Literal<CallerVariable> {
    if (!this.#grammar.hasVariables) throw this.#unexpected('a literal')
    const { text } = this.#expect('variable')
    const expected = '$principal.name, $principal.groups or $principal.claims.NAME'
    if (!/^principal\.(?:name|groups|claims\.[^.]+)$/.test(text))
      throw this.#error(`$${text} is unknown; expected ${expected}`)
    return { printed: { path: text.split('.') }, type: 'text' }
  }

  #parseText(): Literal {
    return { printed: quoteText(this.#expect('text').text), type: 'text' }
  }

  #parseLiteral(): Literal {
    const minus = this.#take('-')
    const number = this.#take('number')
    if (number !== undefined) return { printed: `${minus ? '-' : ''}${number.text}`, type: 'number' }
    if (minus !== undefined) throw this.#unexpected('a number')
    if (this.#following?.kind === 'text') return this.#parseText()
    const truth = this.#take('true') ?? this.#take('false')
    if (truth !== undefined) return { printed: truth.text, type: 'boolean' }
    for (const { type, grammar, example } of times) {
      if (!this.#take(type)) continue
      const { text, offset } = this.#expect('text')
      if (!grammar.test(text)) throw new FilterError(`expected a ${type} such as '${example}'`, offset)
      return { printed: `${type} ${quoteText(text)}`, type }
    }
    // Double quotes and backticks make a name in SQL.
    const isName = this.#following?.kind === 'name'
    throw this.#unexpected(isName ? "a literal, such as 'EU' in single quotes" : 'a literal')
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

  #takeOperator(): string | undefined {
    const kind = this.#following?.kind ?? ''
    return Object.hasOwn(mirrored, kind) ? this.#take(kind)?.kind : undefined
  }

  #expect(kind: string): FilterToken {
    const token = this.#take(kind)
    if (token !== undefined) return token
    throw this.#unexpected(kinds.has(kind) ? `a ${kind}` : JSON.stringify(kind.toUpperCase()))
  }

  /** Throws FilterError unless all is read, and for something that is too deep for engines. */
  expectEnd(levels: number): void {
    if (this.#following !== undefined) throw this.#unexpected('the end, AND or OR')
    if (levels <= maxLevels) return
    const counted = 'NOT has one, a function two, and a chain of 1000 conditions ten'
    throw new FilterError(`it has ${levels} levels; expected at most ${maxLevels}: ${counted}`, 0)
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

function printTest({ printed, levels }: Value, ...test: FilterExpression): Condition {
  return { printed: [`(${printed} `, ...test, ')'], levels }
}
