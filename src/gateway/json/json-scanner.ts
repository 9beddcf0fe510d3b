import { isUtf8 } from 'node:buffer'
import { type CatalogError, refusal } from '../../catalog-api/index.ts'
import type { Steps } from '../../lib/index.ts'
import { continueNumber, canEndNumber, noNumber } from './json-number.ts'

/** Receives the members of all objects in a JSON text. Offsets are in bytes. */
export interface JsonScanHandler {
  /** Called at the start of an object or list. The outermost one has depth 1, as its members and items. */
  readonly open: (at: number, depth: number, isObject: boolean) => void
  /** Called with a decoded name: `"\u0069d"` is `id`, and the offset of the brace or comma before it. */
  readonly name: (name: string, depth: number, separator: number) => void
  /** Called at the start of a member value, with its first byte. */
  readonly value: (at: number, byte: number) => void
  /** Called at the start of an item of a list, with its first byte. */
  readonly item: (byte: number) => void
  /** Called at the end of a member value; `isEmpty` for an object or list without content. */
  readonly valueEnd: (at: number, depth: number, isEmpty: boolean) => void
  readonly closeObject: () => void
}

/** What a text may be: an object, `null` or nothing; or any JSON value or nothing. */
export type JsonRoot = 'object' | 'any'

const maxDepth = 64
const maxNameBytes = 64 * 1024

/** Bytes between two pauses: with the shortest members, some 0.3 ms of work. */
const stepBytes = 4096

const quote = 0x22
const backslash = 0x5c
/** For the types, and behind the end of the text: no JSON contains it. */
const noByte = 0
const byteOrderMark = Buffer.from('\ufeff')
const escapable: ReadonlySet<number> = new Set(Buffer.from('"\\/bfnrt'))
const literalsByFirstByte = new Map(
  ['true', 'false', 'null'].map((word) => [word.charCodeAt(0), Buffer.from(word)]),
)

/** What may come next. */
const expectations = {
  start: 0,
  value: 1,
  firstItem: 2,
  firstName: 3,
  name: 4,
  colon: 5,
  after: 6,
  string: 7,
  number: 8,
  end: 9,
} as const

/**
 * Validates a JSON text: strict UTF-8 without a byte order mark, RFC 8259, at most 64 levels deep. Throws InvalidInput (400)
 * at the first byte that cannot be valid.
 */
export class JsonScanner {
  readonly #text: Buffer
  readonly #handler: JsonScanHandler
  readonly #root: JsonRoot
  #expected: number = expectations.start
  /** Where the work pauses: strings and numbers have any length. */
  #stepEnd = 0
  /** Number of open objects and lists, and which of them are objects. */
  #depth = 0
  readonly #isObject: boolean[] = [false]
  #numberPart = noNumber
  #isNull = false
  /** Offset of the brace or comma before the next name, and of the string that is read; whether that is a name. */
  #separator = 0
  #stringFrom = 0
  #isName = false
  #isEscaped = false

  constructor(text: Buffer, handler: JsonScanHandler, root: JsonRoot) {
    this.#text = text
    this.#handler = handler
    this.#root = root
  }

  /** Reads the text. Returns whether it is an object, rather than `null` or empty. */
  *scan(): Steps<boolean> {
    const { length } = this.#text
    if (!isUtf8(this.#text)) throw refusal('malformed_body', 'the body is not valid UTF-8')
    if (this.#text.subarray(0, byteOrderMark.length).equals(byteOrderMark))
      throw refusal('malformed_body', 'the body begins with a byte order mark; send plain UTF-8')
    for (let at = 0; at < length;) {
      this.#stepEnd = Math.min(at + stepBytes, length)
      while (at < this.#stepEnd) at = this.#step(at)
      if (at < length) yield
    }
    if (this.#expected === expectations.start) return false
    const isNumber = this.#depth === 0 && this.#expected === expectations.number
    if (this.#expected !== expectations.end && !(isNumber && canEndNumber(this.#numberPart)))
      throw invalidJsonError()
    return !this.#isNull
  }

  /** Reads at least one byte, or changes the expectation; returns the next index. */
  #step(at: number): number {
    if (this.#expected === expectations.string) return this.#scanString(at)
    if (this.#expected === expectations.number) return this.#continueNumber(at)
    const byte = this.#text[at] ?? noByte
    if (byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09) return at + 1
    switch (this.#expected) {
      case expectations.after:
        return this.#afterValue(byte, at)
      case expectations.firstItem:
        return byte === 0x5d ? this.#close(at) : this.#beginValue(byte, at)
      case expectations.value:
        return this.#beginValue(byte, at)
      case expectations.firstName:
        return byte === 0x7d ? this.#close(at) : this.#beginName(byte, at)
      case expectations.name:
        return this.#beginName(byte, at)
      case expectations.colon:
        if (byte !== 0x3a) throw invalidJsonError()
        this.#expected = expectations.value
        return at + 1
      case expectations.start:
        return this.#beginText(byte, at)
      default:
        throw invalidJsonError()
    }
  }

  #beginText(byte: number, at: number): number {
    this.#isNull = byte === 0x6e
    if (this.#root === 'any' || byte === 0x7b || this.#isNull) return this.#beginValue(byte, at)
    const isJson =
      byte === 0x5b ||
      byte === quote ||
      literalsByFirstByte.has(byte) ||
      continueNumber(noNumber, byte) !== noNumber
    throw isJson ? refusal('malformed_body', 'the body is JSON, but not an object') : invalidJsonError()
  }

  #beginValue(byte: number, at: number): number {
    if (this.#isObject[this.#depth] === true) this.#handler.value(at, byte)
    else if (this.#depth > 0) this.#handler.item(byte)
    switch (byte) {
      case quote:
        this.#expected = expectations.string
        return at + 1
      case 0x7b:
        this.#open(at, true)
        this.#separator = at
        this.#expected = expectations.firstName
        return at + 1
      case 0x5b:
        this.#open(at, false)
        this.#expected = expectations.firstItem
        return at + 1
      default:
        return this.#beginScalar(byte, at)
    }
  }

  #beginScalar(byte: number, at: number): number {
    const number = continueNumber(noNumber, byte)
    if (number !== noNumber) {
      this.#numberPart = number
      this.#expected = expectations.number
      return at + 1
    }
    const literal = literalsByFirstByte.get(byte)
    if (literal === undefined) throw invalidJsonError()
    for (const [index, expected] of literal.entries())
      if (this.#text[at + index] !== expected) throw invalidJsonError()
    this.#endValue(at + literal.length)
    return at + literal.length
  }

  #open(at: number, isObject: boolean): void {
    this.#depth += 1
    if (this.#depth > maxDepth) {
      throw refusal('malformed_body', `the body is nested more than ${maxDepth} levels deep`)
    }
    this.#isObject[this.#depth] = isObject
    this.#handler.open(at, this.#depth, isObject)
  }

  #close(at: number): number {
    const isEmpty = this.#expected === expectations.firstName || this.#expected === expectations.firstItem
    if (this.#isObject[this.#depth] === true) this.#handler.closeObject()
    this.#depth -= 1
    this.#endValue(at + 1, isEmpty)
    return at + 1
  }

  /** Expects a comma, or the end of the enclosing object or list. */
  #afterValue(byte: number, at: number): number {
    const isObject = this.#isObject[this.#depth] === true
    if (byte === (isObject ? 0x7d : 0x5d)) return this.#close(at)
    if (byte !== 0x2c) throw invalidJsonError()
    if (isObject) this.#separator = at
    this.#expected = isObject ? expectations.name : expectations.value
    return at + 1
  }

  #endValue(at: number, isEmpty = false): void {
    if (this.#isObject[this.#depth] === true) this.#handler.valueEnd(at, this.#depth, isEmpty)
    this.#expected = this.#depth === 0 ? expectations.end : expectations.after
  }

  #beginName(byte: number, at: number): number {
    if (byte !== quote) throw invalidJsonError()
    this.#isName = true
    this.#isEscaped = false
    this.#stringFrom = at
    this.#expected = expectations.string
    return at + 1
  }

  #endString(end: number): number {
    if (!this.#isName) {
      this.#endValue(end)
      return end
    }
    this.#isName = false
    this.#expected = expectations.colon
    const from = this.#stringFrom
    if (end - from > maxNameBytes)
      throw refusal('malformed_body', `a name in the body is longer than ${maxNameBytes} bytes`)
    const name = this.#isEscaped
      ? String(JSON.parse(this.#text.toString('utf8', from, end)))
      : this.#text.toString('utf8', from + 1, end - 1)
    this.#handler.name(name, this.#depth, this.#separator)
    return end
  }

  #scanString(from: number): number {
    const text = this.#text
    const end = this.#stepEnd
    let at = from
    for (; at < end; at += 1) {
      const byte = text[at] ?? noByte
      if (byte === quote) return this.#endString(at + 1)
      if (byte < 0x20) throw invalidJsonError()
      if (byte === backslash) at = this.#scanEscape(at + 1)
    }
    return at
  }

  /** Returns the offset of the last byte of the escape. */
  #scanEscape(at: number): number {
    this.#isEscaped = true
    const byte = this.#text[at] ?? noByte
    if (escapable.has(byte)) return at
    const last = at + 4
    if (byte !== 0x75 || !/^[0-9a-fA-F]{4}$/.test(this.#text.toString('latin1', at + 1, last + 1)))
      throw invalidJsonError()
    return last
  }

  #continueNumber(from: number): number {
    const text = this.#text
    const end = this.#stepEnd
    let part = this.#numberPart
    let at = from
    for (; at < end; at += 1) {
      const next = continueNumber(part, text[at] ?? noByte)
      if (next === noNumber) break
      part = next
    }
    this.#numberPart = part
    if (at === end) return at
    if (!canEndNumber(part)) throw invalidJsonError()
    this.#endValue(at)
    return at
  }
}

function invalidJsonError(): CatalogError {
  return refusal('malformed_body', 'the body is not valid JSON')
}
