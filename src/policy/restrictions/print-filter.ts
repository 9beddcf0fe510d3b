import { comparableLiterals, filterFunctions, itemTypes, type ColumnType } from './column-types.ts'
import { FilterError, readTokens, type FilterToken } from './filter-tokens.ts'

/** Returns the type of a column by its path; `unknown` if it may be compared with any literal; undefined if there is no such column. */
type FindColumn = (path: string) => ColumnType | 'unknown' | undefined

/**
 * Returns how the texts are printed that a fact of the caller stands for, such as `principal.claims.region`; undefined if
 * the caller does not have it.
 */
export type PrintVariable = (fact: string) => readonly string[] | undefined

/**
 * Prints a filter of a caller, or the `rows` of a policy, for an engine of any dialect. Its grammar is a small part of SQL: conditions on columns and
 * literals, joined by AND, OR and NOT. Everything else is refused, and nothing of the text is copied: names are in
 * backticks, which are exact in DataFusion's SQL as Lance reads it, texts are quoted again, and everything is in
 * parentheses. With `printVariable`, facts of the caller may be operands; if one is missing, `false` is printed instead of
 * the whole filter, so no row matches. Throws FilterError.
 */
export function printFilter(filter: string, findColumn: FindColumn, printVariable?: PrintVariable): string {
  return new FilterPrinter(filter, findColumn, printVariable).print()
}

/** Something that is true or false of a row, a column or a function of one, or a literal. */
interface Printed {
  readonly printed: string
  readonly type: ColumnType | 'unknown'
  /** The depth to which engines recurse: AND and OR are printed as balanced trees. */
  readonly levels: number
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

const comparisons: ReadonlySet<string> = new Set(['=', '<>', '<', '<=', '>', '>='])

const times = [
  { type: 'date', grammar: /^\d{4}-\d\d-\d\d$/, example: '2026-01-31' },
  {
    type: 'timestamp',
    grammar: /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d{1,9})?$/,
    example: '2026-01-31 12:00:00',
  },
] as const

const kinds: ReadonlySet<string> = new Set(['name', 'text', 'number', 'variable'])

class FilterPrinter {
  readonly #filter: string
  readonly #findColumn: FindColumn
  readonly #printVariable: PrintVariable | undefined
  readonly #tokens: readonly FilterToken[]
  #next = 0
  #nesting = 0
  #conditions = 0
  #isFactMissing = false

  constructor(filter: string, findColumn: FindColumn, printVariable?: PrintVariable) {
    this.#filter = filter
    this.#findColumn = findColumn
    this.#printVariable = printVariable
    this.#tokens = readTokens(filter)
  }

  print(): string {
    const { printed, levels } = this.#parseOr()
    if (this.#following !== undefined) throw this.#unexpected('the end, AND or OR')
    if (levels <= maxLevels) return this.#isFactMissing ? 'false' : printed
    const counted = 'NOT has one, a function two, and a chain of 1000 conditions ten'
    throw new FilterError(`it has ${levels} levels; expected at most ${maxLevels}: ${counted}`, 0)
  }

  #parseOr(): Printed {
    return this.#parseChain('or', () => this.#parseChain('and', () => this.#parseNot()))
  }

  #parseChain(word: 'and' | 'or', parsePart: () => Printed): Printed {
    const parts = [parsePart()]
    while (this.#take(word)) parts.push(parsePart())
    const printed = joinBalanced(
      parts.map((part) => part.printed),
      word.toUpperCase(),
    )
    const levels = Math.ceil(Math.log2(parts.length)) + Math.max(...parts.map((part) => part.levels))
    return { printed, type: 'boolean', levels }
  }

  #parseNot(): Printed {
    let isNegated = false
    while (this.#take('not')) isNegated = !isNegated
    const part = this.#parseCondition()
    return isNegated ? { ...part, printed: `(NOT ${part.printed})`, levels: part.levels + 1 } : part
  }

  #parseCondition(): Printed {
    this.#conditions += 1
    if (this.#conditions > maxConditions) throw this.#error(`it has more than ${maxConditions} conditions`)
    if (this.#take('(')) {
      const parsed = this.#nested(() => this.#parseOr())
      this.#expect(')')
      return parsed
    }
    if (this.#following?.kind === 'name') return this.#parseTest(this.#parseValue())
    const truth = this.#take('true') ?? this.#take('false')
    if (truth === undefined) throw this.#unexpected('a column')
    return createLiteral(truth.text, 'boolean')
  }

  #parseTest(value: Printed): Printed {
    const operator = comparisons.has(this.#following?.kind ?? '') ? this.#tokens[this.#next++] : undefined
    if (operator !== undefined) return printTest(value, `${operator.kind} ${this.#parseOperand(value)}`)
    if (this.#take('is')) {
      const not = this.#take('not') ? 'NOT ' : ''
      this.#expect('null')
      return printTest(value, `IS ${not}NULL`)
    }
    const isNegated = this.#take('not') !== undefined
    const not = isNegated ? 'NOT ' : ''
    if (this.#take('in')) {
      const items = this.#parseList(value)
      // An empty list is no valid SQL.
      return items.length === 0
        ? { ...value, printed: String(isNegated), type: 'boolean' }
        : printTest(value, `${not}IN (${items.join(', ')})`)
    }
    if (this.#take('between')) {
      const low = this.#parseOperand(value)
      this.#expect('and')
      return printTest(value, `${not}BETWEEN ${low} AND ${this.#parseOperand(value)}`)
    }
    const like = this.#take('like') ?? this.#take('ilike')
    if (like !== undefined) {
      this.#assertType(value, 'text', 'LIKE')
      return printTest(value, `${not}${like.text.toUpperCase()} ${this.#parseText().printed}`)
    }
    if (isNegated) throw this.#unexpected('IN, BETWEEN or LIKE')
    if (value.type !== 'boolean') throw this.#unexpected('a comparison')
    return value
  }

  /** Parses the operand of IN: a list of literals and of facts of the caller, or one fact alone. */
  #parseList(value: Printed): readonly string[] {
    if (this.#following?.kind === 'variable') return this.#parseOperands(value)
    this.#expect('(')
    const items = [...this.#parseOperands(value)]
    while (this.#take(',')) items.push(...this.#parseOperands(value))
    this.#expect(')')
    return items
  }

  /** Parses an operand outside of lists, where a fact of the caller is one text. */
  #parseOperand(value: Printed): string {
    const next = this.#following
    if (next?.text === 'principal.groups')
      throw new FilterError('$principal.groups is a list; expected "in" before it', next.offset)
    const [text, ...others] = this.#parseOperands(value)
    if (text !== undefined && others.length === 0) return text
    this.#isFactMissing = true
    return ''
  }

  /** Parses a literal, or a fact of the caller if there may be one, that the value may be compared with. */
  #parseOperands(value: Printed): readonly string[] {
    if (this.#following?.kind === 'variable') {
      const texts = this.#parseVariable()
      this.#assertComparable(value, { type: 'text' })
      return texts
    }
    const literal = this.#parseLiteral()
    this.#assertComparable(value, literal)
    return [literal.printed]
  }

  #assertComparable({ type }: Printed, operand: Pick<Printed, 'type'>): void {
    if (type !== 'unknown' && !comparableLiterals[type].some((literal) => literal === operand.type))
      throw this.#error(`a column of the type ${type} cannot be compared with a ${operand.type} here`)
  }

  #parseValue(): Printed {
    const first = this.#expect('name')
    if (this.#filter[first.offset] !== '`' && this.#take('('))
      return this.#nested(() => this.#parseCall(first))
    const path = [first.text]
    while (this.#take('.')) path.push(this.#expect('name').text)
    const joined = path.join('.')
    const type = this.#findColumn(joined)
    if (type !== undefined) return { printed: path.map((name) => `\`${name}\``).join('.'), type, levels: 0 }
    throw new FilterError(`there is no column ${JSON.stringify(joined)}`, first.offset)
  }

  #parseCall({ text, offset }: FilterToken): Printed {
    const name = text.toLowerCase()
    const called = Object.hasOwn(filterFunctions, name) ? filterFunctions[name] : undefined
    if (called === undefined) {
      const known = Object.keys(filterFunctions).join(', ')
      throw new FilterError(`the function ${name} is not supported; expected one of ${known}`, offset)
    }
    const value = this.#parseValue()
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

  #assertType({ type }: Printed, expected: 'text' | 'list', user: string): void {
    const isRight = expected === 'text' ? type === 'text' : itemTypes[type] !== undefined
    const what = expected === 'text' ? 'columns of the type text' : 'lists'
    if (type !== 'unknown' && !isRight) throw this.#error(`${user} is for ${what}`)
  }

  #parseVariable(): readonly string[] {
    if (this.#printVariable === undefined) throw this.#unexpected('a literal')
    const { text } = this.#expect('variable')
    const expected = '$principal.name, $principal.groups or $principal.claims.NAME'
    if (!/^principal\.(?:name|groups|claims\.[^.]+)$/.test(text))
      throw this.#error(`$${text} is unknown; expected ${expected}`)
    const texts = this.#printVariable(text)
    this.#isFactMissing ||= texts === undefined
    return texts ?? []
  }

  #parseText(): Printed {
    return createLiteral(quoteText(this.#expect('text').text), 'text')
  }

  #parseLiteral(): Printed {
    const minus = this.#take('-')
    const number = this.#take('number')
    if (number !== undefined) return createLiteral(`${minus ? '-' : ''}${number.text}`, 'number')
    if (minus !== undefined) throw this.#unexpected('a number')
    if (this.#following?.kind === 'text') return this.#parseText()
    const truth = this.#take('true') ?? this.#take('false')
    if (truth !== undefined) return createLiteral(truth.text, 'boolean')
    for (const { type, grammar, example } of times) {
      if (!this.#take(type)) continue
      const { text, offset } = this.#expect('text')
      if (!grammar.test(text)) throw new FilterError(`expected a ${type} such as '${example}'`, offset)
      return createLiteral(`${type} ${quoteText(text)}`, type)
    }
    // Double quotes and backticks make a name in SQL.
    const isName = this.#following?.kind === 'name'
    throw this.#unexpected(isName ? "a literal, such as 'EU' in single quotes" : 'a literal')
  }

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

  #take(kind: string): FilterToken | undefined {
    const token = this.#following
    if (token?.kind !== kind) return undefined
    this.#next += 1
    return token
  }

  #expect(kind: string): FilterToken {
    const token = this.#take(kind)
    if (token !== undefined) return token
    throw this.#unexpected(kinds.has(kind) ? `a ${kind}` : JSON.stringify(kind.toUpperCase()))
  }

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

function createLiteral(printed: string, type: ColumnType): Printed {
  return { printed, type, levels: 0 }
}

function printTest({ printed, levels }: Printed, test: string): Printed {
  return { printed: `(${printed} ${test})`, type: 'boolean', levels }
}

export function quoteText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}

/** As a tree that is as deep as the logarithm of its parts: engines recurse, and a flat chain can overflow their stack. */
function joinBalanced(parts: readonly string[], word: string): string {
  if (parts.length <= 1) return parts.join('')
  const half = parts.length >> 1
  return `(${joinBalanced(parts.slice(0, half), word)} ${word} ${joinBalanced(parts.slice(half), word)})`
}
