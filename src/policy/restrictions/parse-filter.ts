import { comparableLiterals, itemLiterals, type ColumnType, type LiteralType } from './column-type.ts'
import { parseVariable } from './caller-variable.ts'
import { FilterError } from './filter-error.ts'
import type {
  ComparisonOperator,
  FilterExpression,
  FilterValue,
  Literal,
  Operand,
} from './filter-expression.ts'
import { filterFunctions, type ArgumentKind } from './filter-functions.ts'
import { readTokens, type FilterToken } from './filter-token.ts'

/** Returns the type of a column; `unknown` if it may be compared with any literal; undefined if there is no such column. */
type FindColumn = (path: readonly string[]) => ColumnType | 'unknown' | undefined

export interface FilterGrammar {
  readonly findColumn: FindColumn
  /** Whether facts of the caller (`$principal.name`) may be operands. */
  readonly hasVariables: boolean
}

const maxDepth = 16
const maxConditions = 2_000

const dateGrammar = /^\d{4}-\d\d-\d\d$/
const timestampGrammar = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d{1,9})?$/

/**
 * Parses a filter by a grammar that is a small part of SQL: conditions on columns and literals, joined by AND, OR and
 * NOT. Everything else is refused, so that what `printFilter` prints can be given to an engine of any dialect. Throws
 * FilterError.
 */
export function parseFilter(filter: string, grammar: FilterGrammar): FilterExpression {
  return new FilterParser(filter, grammar).parseAll((parser) => parser.parseOr())
}

/** Parses a column or a function of one, as queries select them. Throws FilterError. */
export function parseColumnExpression(text: string, grammar: FilterGrammar): FilterValue {
  return new FilterParser(text, grammar).parseAll((parser) => parser.parseValue())
}

const mirrored: Readonly<Record<ComparisonOperator, ComparisonOperator>> = {
  '=': '=',
  '<>': '<>',
  '<': '>',
  '<=': '>=',
  '>': '<',
  '>=': '<=',
}

class FilterParser {
  readonly #tokens: readonly FilterToken[]
  readonly #end: number
  readonly #grammar: FilterGrammar
  #next = 0
  #depth = 0
  #conditions = 0

  constructor(filter: string, grammar: FilterGrammar) {
    this.#tokens = readTokens(filter)
    this.#end = filter.length
    this.#grammar = grammar
  }

  parseAll<Parsed>(parse: (parser: FilterParser) => Parsed): Parsed {
    const parsed = parse(this)
    if (this.#next < this.#tokens.length) throw this.#unexpected('the end, AND or OR')
    return parsed
  }

  parseOr(): FilterExpression {
    return this.#parseNested(() =>
      this.#parseChain('or', () => this.#parseChain('and', () => this.#parseNot())),
    )
  }

  parseValue(): FilterValue {
    const following = this.#tokens[this.#next + 1]
    const isCall = this.#token?.isBare === true && following?.kind === 'sign' && following.text === '('
    return isCall ? this.#parseNested(() => this.#parseCall()) : this.#parseColumn()
  }

  /** Parsers recurse, and so do engines. */
  #parseNested<Parsed>(parse: () => Parsed): Parsed {
    this.#depth += 1
    if (this.#depth > maxDepth) throw this.#error(`it is nested deeper than ${maxDepth} levels`)
    const parsed = parse()
    this.#depth -= 1
    return parsed
  }

  #parseChain(word: 'and' | 'or', parsePart: () => FilterExpression): FilterExpression {
    const parts = [parsePart()]
    while (this.#takes('keyword', word)) parts.push(parsePart())
    const [only] = parts
    return parts.length === 1 && only !== undefined ? only : { kind: word, parts }
  }

  #parseNot(): FilterExpression {
    let isNegated = false
    while (this.#takes('keyword', 'not')) isNegated = !isNegated
    const part = this.#parseCondition()
    return isNegated ? { kind: 'not', part } : part
  }

  #parseCondition(): FilterExpression {
    this.#conditions += 1
    if (this.#conditions > maxConditions) throw this.#error(`it has more than ${maxConditions} conditions`)
    if (this.#takes('sign', '(')) {
      const parsed = this.parseOr()
      this.#expect('sign', ')')
      return parsed
    }
    if (this.#token?.kind === 'name') return this.#parseTest(this.parseValue())
    const isConstant = this.#is('keyword', 'true') || this.#is('keyword', 'false')
    const literal = this.#parseLiteral()
    const operator = this.#takeOperator()
    if (operator !== undefined) return this.#createComparison(this.parseValue(), mirrored[operator], literal)
    if (isConstant) return { kind: 'constant', value: literal.text === 'true' }
    throw this.#unexpected('a comparison')
  }

  #parseTest(value: FilterValue): FilterExpression {
    const operator = this.#takeOperator()
    if (operator !== undefined) return this.#createComparison(value, operator, this.#parseOperand())
    if (this.#takes('keyword', 'is')) return this.#parseIs(value)
    const isNegated = this.#takes('keyword', 'not')
    if (this.#takes('keyword', 'in')) return this.#parseIn(value, isNegated)
    if (this.#takes('keyword', 'between')) {
      const low = this.#comparable(value, this.#parseOperand())
      this.#expect('keyword', 'and')
      return { kind: 'between', value, isNegated, low, high: this.#comparable(value, this.#parseOperand()) }
    }
    const ignoresCase = this.#is('keyword', 'ilike')
    if (this.#takes('keyword', 'like') || this.#takes('keyword', 'ilike')) {
      this.#assertType(value, 'text', 'LIKE')
      return { kind: 'like', value, isNegated, ignoresCase, pattern: this.#expect('text').text }
    }
    if (isNegated) throw this.#unexpected('IN, BETWEEN or LIKE')
    if (value.type !== 'boolean') throw this.#unexpected('a comparison')
    return { kind: 'value', value }
  }

  #parseIs(value: FilterValue): FilterExpression {
    const isNegated = this.#takes('keyword', 'not')
    if (this.#takes('keyword', 'null')) return { kind: 'is', value, isNegated, what: 'null' }
    const what = this.#is('keyword', 'true') ? 'true' : 'false'
    if (value.type !== 'boolean' || !this.#takes('keyword', what)) throw this.#unexpected('NULL')
    return { kind: 'is', value, isNegated, what }
  }

  #parseIn(value: FilterValue, isNegated: boolean): FilterExpression {
    if (this.#token?.kind === 'variable') {
      return { kind: 'in', value, isNegated, operands: [this.#comparable(value, this.#parseOperand())] }
    }
    this.#expect('sign', '(')
    const operands = [this.#comparable(value, this.#parseLiteral())]
    while (this.#takes('sign', ',')) operands.push(this.#comparable(value, this.#parseLiteral()))
    this.#expect('sign', ')')
    return { kind: 'in', value, isNegated, operands }
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

  #parseCall(): FilterValue {
    const name = this.#expect('name').text.toLowerCase()
    const known = Object.hasOwn(filterFunctions, name) ? filterFunctions[name] : undefined
    if (known === undefined)
      throw this.#error(
        `the function ${name} is not supported; expected one of ${Object.keys(filterFunctions).join(', ')}`,
      )
    const [kinds, type] = known
    this.#expect('sign', '(')
    const parsed: (FilterValue | Literal)[] = []
    for (const kind of kinds) {
      if (parsed.length > 0) this.#expect('sign', ',')
      parsed.push(this.#parseArgument(kind, name, parsed[0]))
    }
    this.#expect('sign', ')')
    return { kind: 'call', name, arguments: parsed, type }
  }

  #parseArgument(
    kind: ArgumentKind,
    name: string,
    first: FilterValue | Literal | undefined,
  ): FilterValue | Literal {
    if (kind === 'text') return { kind: 'literal', type: 'text', text: this.#expect('text').text }
    if (kind === 'item') {
      const item = this.#parseLiteral()
      const list = first === undefined || first.kind === 'literal' ? undefined : first.type
      if (list !== 'unknown' && (list === undefined || item.type !== itemLiterals[list]))
        throw this.#error(`${name} needs an item of the list`)
      return item
    }
    const value = this.parseValue()
    if (kind === 'column') this.#assertType(value, 'text', name)
    else if (value.type !== 'unknown' && itemLiterals[value.type] === undefined)
      throw this.#error(`${name} is for lists`)
    return value
  }

  #assertType(value: FilterValue, type: ColumnType, user: string): void {
    if (value.type !== 'unknown' && value.type !== type)
      throw this.#error(`${user} is for columns of the type ${type}`)
  }

  #parseColumn(): FilterValue {
    const { offset } = this.#token ?? { offset: this.#end }
    const path = [this.#expect('name').text]
    while (this.#takes('sign', '.')) path.push(this.#expect('name').text)
    const type = this.#grammar.findColumn(path)
    if (type === undefined)
      throw new FilterError(`there is no column ${JSON.stringify(path.join('.'))}`, offset)
    return { kind: 'column', path, type }
  }

  #parseOperand(): Operand {
    const token = this.#token
    if (token?.kind !== 'variable') return this.#parseLiteral()
    if (!this.#grammar.hasVariables) throw this.#unexpected('a literal')
    this.#next += 1
    const variable = parseVariable(token.text)
    if (variable !== undefined) return variable
    const expected = '$principal.name, $principal.groups or $principal.claims.NAME'
    throw this.#error(`$${token.text} is unknown; expected ${expected}`)
  }

  #parseLiteral(): Literal {
    const isNegative = this.#takes('sign', '-')
    const number = this.#take('number')
    if (number !== undefined)
      return { kind: 'literal', type: 'number', text: `${isNegative ? '-' : ''}${number.text}` }
    if (isNegative) throw this.#unexpected('a number')
    const text = this.#take('text')
    if (text !== undefined) return { kind: 'literal', type: 'text', text: text.text }
    for (const value of ['true', 'false'])
      if (this.#takes('keyword', value)) return { kind: 'literal', type: 'boolean', text: value }
    if (this.#takes('keyword', 'date')) return this.#parseTime('date', dateGrammar, '2026-01-31')
    if (this.#takes('keyword', 'timestamp'))
      return this.#parseTime('timestamp', timestampGrammar, '2026-01-31 12:00:00')
    throw this.#unexpected('a literal')
  }

  #parseTime(type: 'date' | 'timestamp', grammar: RegExp, example: string): Literal {
    const { text, offset } = this.#expect('text')
    if (!grammar.test(text)) throw new FilterError(`expected a ${type} such as '${example}'`, offset)
    return { kind: 'literal', type, text }
  }

  get #token(): FilterToken | undefined {
    return this.#tokens[this.#next]
  }

  #is(kind: FilterToken['kind'], text: string): boolean {
    return this.#token?.kind === kind && this.#token.text === text
  }

  #takes(kind: FilterToken['kind'], text: string): boolean {
    if (!this.#is(kind, text)) return false
    this.#next += 1
    return true
  }

  #take(kind: FilterToken['kind']): FilterToken | undefined {
    const token = this.#token
    if (token?.kind !== kind) return undefined
    this.#next += 1
    return token
  }

  #expect(kind: FilterToken['kind'], text?: string): FilterToken {
    const token = this.#token
    if (token?.kind !== kind || (text !== undefined && token.text !== text)) {
      throw this.#unexpected(text === undefined ? `a ${kind}` : JSON.stringify(text.toUpperCase()))
    }
    this.#next += 1
    return token
  }

  #takeOperator(): ComparisonOperator | undefined {
    const token = this.#token
    if (token?.kind !== 'sign' || !isComparisonOperator(token.text)) return undefined
    this.#next += 1
    return token.text
  }

  /** An error about the token that is next. */
  #unexpected(expected: string): FilterError {
    const token = this.#token
    const found = token === undefined ? 'the end' : JSON.stringify(token.text)
    return new FilterError(`expected ${expected}, found ${found}`, token?.offset ?? this.#end)
  }

  /** An error about the token that was read last. */
  #error(message: string): FilterError {
    return new FilterError(message, this.#tokens[this.#next - 1]?.offset ?? 0)
  }
}

function isComparisonOperator(text: string): text is ComparisonOperator {
  return Object.hasOwn(mirrored, text)
}
