import { FilterError } from './filter-error.ts'
import { readTokens, type FilterToken } from './filter-token.ts'

/** Parsers recurse: a filter has at most as many parentheses and calls within each other. */
const maxNesting = 16

/** Reads the tokens of a filter one after the other. Its methods throw FilterError. */
export class TokenReader {
  readonly #tokens: readonly FilterToken[]
  readonly #end: number
  #next = 0
  #nesting = 0

  constructor(filter: string) {
    this.#tokens = readTokens(filter)
    this.#end = filter.length
  }

  /** The token that is read next; undefined at the end. */
  get next(): FilterToken | undefined {
    return this.#tokens[this.#next]
  }

  /** Whether the next tokens are the name of a function and its parenthesis. */
  get isCall(): boolean {
    const following = this.#tokens[this.#next + 1]
    return this.next?.isBare === true && following?.kind === 'sign' && following.text === '('
  }

  isNext(kind: FilterToken['kind'], text: string): boolean {
    return this.next?.kind === kind && this.next.text === text
  }

  /** Reads the next token if it is this one. */
  takes(kind: FilterToken['kind'], text: string): boolean {
    if (!this.isNext(kind, text)) return false
    this.#next += 1
    return true
  }

  /** Reads the next token if it is of this kind. */
  take(kind: FilterToken['kind']): FilterToken | undefined {
    const token = this.next
    if (token?.kind !== kind) return undefined
    this.#next += 1
    return token
  }

  expect(kind: FilterToken['kind'], text?: string): FilterToken {
    const token = this.next
    if (token?.kind !== kind || (text !== undefined && token.text !== text))
      throw this.unexpected(text === undefined ? `a ${kind}` : JSON.stringify(text.toUpperCase()))
    this.#next += 1
    return token
  }

  expectEnd(): void {
    if (this.next !== undefined) throw this.unexpected('the end, AND or OR')
  }

  /** Parses what is in parentheses. */
  parseNested<Parsed>(parse: () => Parsed): Parsed {
    this.#nesting += 1
    if (this.#nesting > maxNesting) throw this.error(`it is nested deeper than ${maxNesting} levels`)
    const parsed = parse()
    this.#nesting -= 1
    return parsed
  }

  /** An error about the next token. */
  unexpected(expected: string): FilterError {
    const { next } = this
    const found = next === undefined ? 'the end' : JSON.stringify(next.text)
    return new FilterError(`expected ${expected}, found ${found}`, next?.offset ?? this.#end)
  }

  /** An error about the token that was read last. */
  error(message: string): FilterError {
    return new FilterError(message, this.#tokens[this.#next - 1]?.offset ?? 0)
  }
}
