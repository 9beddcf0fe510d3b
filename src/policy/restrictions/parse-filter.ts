import { assertLevels } from './assert-levels.ts'
import { comparableLiterals, type LiteralType } from './column-type.ts'
import type {
  ComparisonOperator,
  FilterExpression,
  FilterValue,
  Literal,
  Operand,
} from './filter-expression.ts'
import { parseLiteral, parseOperand } from './parse-operand.ts'
import { assertText, parseValue, type FindColumn } from './parse-value.ts'
import { TokenReader } from './token-reader.ts'

export interface FilterGrammar {
  readonly findColumn: FindColumn
  /** Whether facts of the caller (`$principal.name`) may be operands. */
  readonly hasVariables: boolean
}

const maxConditions = 2_000

/**
 * Parses a filter by a grammar that is a small part of SQL: conditions on columns and literals, joined by AND, OR and
 * NOT. Everything else is refused, so that what `printFilter` prints can be given to an engine of any dialect. Throws
 * FilterError.
 */
export function parseFilter(filter: string, grammar: FilterGrammar): FilterExpression {
  const tokens = new TokenReader(filter)
  const parsed = new ConditionParser(tokens, grammar).parseOr()
  tokens.expectEnd()
  assertLevels(parsed)
  return parsed
}

const mirrored: Readonly<Record<ComparisonOperator, ComparisonOperator>> = {
  '=': '=',
  '<>': '<>',
  '<': '>',
  '<=': '>=',
  '>': '<',
  '>=': '<=',
}

class ConditionParser {
  readonly #tokens: TokenReader
  readonly #grammar: FilterGrammar
  #conditions = 0

  constructor(tokens: TokenReader, grammar: FilterGrammar) {
    this.#tokens = tokens
    this.#grammar = grammar
  }

  parseOr(): FilterExpression {
    return this.#parseChain('or', () => this.#parseChain('and', () => this.#parseNot()))
  }

  #parseChain(word: 'and' | 'or', parsePart: () => FilterExpression): FilterExpression {
    const parts = [parsePart()]
    while (this.#tokens.takes('keyword', word)) parts.push(parsePart())
    return { kind: word, parts }
  }

  #parseNot(): FilterExpression {
    let isNegated = false
    while (this.#tokens.takes('keyword', 'not')) isNegated = !isNegated
    const part = this.#parseCondition()
    return isNegated ? { kind: 'not', part } : part
  }

  #parseCondition(): FilterExpression {
    const tokens = this.#tokens
    this.#conditions += 1
    if (this.#conditions > maxConditions) throw tokens.error(`it has more than ${maxConditions} conditions`)
    if (tokens.takes('sign', '(')) {
      const parsed = tokens.parseNested(() => this.parseOr())
      tokens.expect('sign', ')')
      return parsed
    }
    if (tokens.next?.kind === 'name') return this.#parseTest(this.#parseValue())
    return this.#parseLiteralCondition()
  }

  /** Parses `true`, `false` or a literal that is compared with a column. */
  #parseLiteralCondition(): FilterExpression {
    const literal = parseLiteral(this.#tokens)
    const operator = this.#takeOperator()
    if (operator !== undefined) return this.#createComparison(this.#parseValue(), mirrored[operator], literal)
    if (literal.type === 'boolean') return { kind: 'constant', value: literal.text === 'true' }
    throw this.#tokens.unexpected('a comparison')
  }

  #parseTest(value: FilterValue): FilterExpression {
    const tokens = this.#tokens
    const operator = this.#takeOperator()
    if (operator !== undefined) return this.#createComparison(value, operator, this.#parseOperand())
    if (tokens.takes('keyword', 'is')) return this.#parseIs(value)
    const isNegated = tokens.takes('keyword', 'not')
    if (tokens.takes('keyword', 'in')) return this.#parseIn(value, isNegated)
    if (tokens.takes('keyword', 'between')) return this.#parseBetween(value, isNegated)
    const ignoresCase = tokens.isNext('keyword', 'ilike')
    if (tokens.takes('keyword', 'like') || tokens.takes('keyword', 'ilike')) {
      assertText(tokens, value, 'LIKE')
      return { kind: 'like', value, isNegated, ignoresCase, pattern: tokens.expect('text').text }
    }
    if (isNegated) throw tokens.unexpected('IN, BETWEEN or LIKE')
    if (value.type !== 'boolean') throw tokens.unexpected('a comparison')
    return { kind: 'value', value }
  }

  #parseIs(value: FilterValue): FilterExpression {
    const tokens = this.#tokens
    const isNegated = tokens.takes('keyword', 'not')
    if (tokens.takes('keyword', 'null')) return { kind: 'is', value, isNegated, what: 'null' }
    const what = tokens.isNext('keyword', 'true') ? 'true' : 'false'
    if (value.type !== 'boolean' || !tokens.takes('keyword', what)) throw tokens.unexpected('NULL')
    return { kind: 'is', value, isNegated, what }
  }

  #parseIn(value: FilterValue, isNegated: boolean): FilterExpression {
    const tokens = this.#tokens
    if (tokens.next?.kind === 'variable') {
      return { kind: 'in', value, isNegated, operands: [this.#comparable(value, this.#parseOperand())] }
    }
    tokens.expect('sign', '(')
    const operands = [this.#comparable(value, parseLiteral(tokens))]
    while (tokens.takes('sign', ',')) operands.push(this.#comparable(value, parseLiteral(tokens)))
    tokens.expect('sign', ')')
    return { kind: 'in', value, isNegated, operands }
  }

  #parseBetween(value: FilterValue, isNegated: boolean): FilterExpression {
    const low = this.#comparable(value, this.#parseOperand())
    this.#tokens.expect('keyword', 'and')
    const high = this.#comparable(value, this.#parseOperand())
    return { kind: 'between', value, isNegated, low, high }
  }

  #createComparison(value: FilterValue, operator: ComparisonOperator, operand: Operand): FilterExpression {
    return { kind: 'comparison', operator, value, operand: this.#comparable(value, operand) }
  }

  /** Throws FilterError unless a value is compared with an operand of its type. */
  #comparable<Compared extends Literal | Operand>(value: FilterValue, operand: Compared): Compared {
    const literal: LiteralType = operand.kind === 'variable' ? 'text' : operand.type
    if (value.type === 'unknown' || comparableLiterals[value.type].includes(literal)) return operand
    throw this.#tokens.error(`a column of the type ${value.type} cannot be compared with a ${literal} here`)
  }

  #parseValue(): FilterValue {
    return parseValue(this.#tokens, this.#grammar.findColumn)
  }

  #parseOperand(): Operand {
    return parseOperand(this.#tokens, this.#grammar.hasVariables)
  }

  #takeOperator(): ComparisonOperator | undefined {
    const { next } = this.#tokens
    if (next?.kind !== 'sign' || !isComparisonOperator(next.text)) return undefined
    this.#tokens.expect('sign')
    return next.text
  }
}

function isComparisonOperator(text: string): text is ComparisonOperator {
  return Object.hasOwn(mirrored, text)
}
