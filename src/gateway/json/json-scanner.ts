import { type CatalogError, refusal } from '../../catalog-api/index.ts'
import { JsonNameReader } from './json-name-reader.ts'
import { continueNumber, canEndNumber, noNumber } from './json-number.ts'
import { Utf8Validator } from './utf8-validator.ts'

/** Receives the members of all objects in a JSON text. Offsets are in bytes of the whole text. */
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

const quote = 0x22
const backslash = 0x5c
const nothing = Buffer.alloc(0)
/** For the types: every index that is read is within the chunk. */
const noByte = 0
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
  escape: 8,
  hex: 9,
  number: 10,
  literal: 11,
  end: 12,
} as const

/**
 * Validates a JSON text that arrives in chunks: strict UTF-8 without a byte order mark, RFC 8259, at most 64 levels deep.
 * Retains nothing but a name that spans chunks. Every method throws InvalidInput (400) as soon as no continuation of the
 * text can be valid.
 */
export class JsonScanner {
  readonly #handler: JsonScanHandler
  readonly #root: JsonRoot
  readonly #utf8 = new Utf8Validator()
  #expected: number = expectations.start
  #chunk: Buffer = nothing
  /** Offset of the chunk in the whole text. */
  #chunkOffset = 0
  /** Number of open objects and lists, and which of them are objects. */
  #depth = 0
  readonly #isObject: boolean[] = [false]
  #numberPart = noNumber
  #literal: Buffer = nothing
  /** Bytes of a literal, or digits of an escape, that have been read. */
  #count = 0
  #isNull = false
  /** Offset of the last byte of the outermost value, once it has ended. */
  #lastByte: number | undefined
  /** The last or the next name. */
  readonly #name = new JsonNameReader()

  constructor(handler: JsonScanHandler, root: JsonRoot = 'object') {
    this.#handler = handler
    this.#root = root
  }

  push(chunk: Buffer): void {
    if (!this.#utf8.push(chunk)) throw refusal('malformed_body', 'the body is not valid UTF-8')
    this.#chunk = chunk
    let index = 0
    while (index < chunk.length) index = this.#step(index)
    this.#chunkOffset += chunk.length
    if (this.#name.isOpen) this.#name.saveChunk(chunk)
    if (this.#awaitsName()) this.#name.assertLength(this.#chunkOffset)
  }

  /** Ends the text. Returns whether it is an object, rather than `null` or empty. */
  end(): boolean {
    if (!this.#utf8.end()) throw refusal('malformed_body', 'the body is not valid UTF-8')
    if (this.#expected === expectations.start) return false
    const isNumber = this.#depth === 0 && this.#expected === expectations.number
    if (this.#expected !== expectations.end && !(isNumber && canEndNumber(this.#numberPart)))
      throw invalidJsonError()
    return !this.#isNull
  }

  /**
   * Everything before this offset precedes any unfinished name and its comma, and is not a complete text: readers could
   * accept that before they know that more follows.
   */
  get safeEnd(): number {
    return this.#lastByte ?? (this.#awaitsName() ? this.#name.separator : this.#chunkOffset)
  }

  /** Bytes of white space that follow the outermost value. */
  get trailingBytes(): number {
    return this.#lastByte === undefined ? 0 : this.#chunkOffset - this.#lastByte - 1
  }

  /** Reads at least one byte, or changes the expectation; returns the next index. */
  #step(at: number): number {
    switch (this.#expected) {
      case expectations.string:
        return this.#scanString(at)
      case expectations.number:
        return this.#continueNumber(at)
      case expectations.escape:
        return this.#scanEscape(at)
      case expectations.hex:
        return this.#scanHex(at)
      case expectations.literal:
        return this.#continueLiteral(at)
      default:
        return this.#scanToken(at)
    }
  }

  #scanToken(at: number): number {
    const byte = this.#chunk[at] ?? noByte
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
    if (byte === 0x7b) return this.#beginValue(byte, at)
    if (byte === 0x6e) {
      this.#isNull = true
      return this.#beginValue(byte, at)
    }
    if (this.#chunk.subarray(at, at + 3).toString('latin1') === '\u00ef\u00bb\u00bf') {
      throw refusal('malformed_body', 'the body begins with a byte order mark; send plain UTF-8')
    }
    if (this.#root === 'any' && byte !== 0xef) return this.#beginValue(byte, at)
    const isJson =
      byte === 0x5b ||
      byte === quote ||
      literalsByFirstByte.has(byte) ||
      continueNumber(noNumber, byte) !== noNumber
    throw isJson ? refusal('malformed_body', 'the body is JSON, but not an object') : invalidJsonError()
  }

  #beginValue(byte: number, at: number): number {
    if (this.#isObject[this.#depth] === true) this.#handler.value(this.#chunkOffset + at, byte)
    else if (this.#depth > 0) this.#handler.item(byte)
    switch (byte) {
      case quote:
        this.#expected = expectations.string
        return at + 1
      case 0x7b:
        this.#open(at, true)
        this.#name.separator = this.#chunkOffset + at
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
    this.#literal = literal
    this.#count = 1
    this.#expected = expectations.literal
    return at + 1
  }

  #open(at: number, isObject: boolean): void {
    this.#depth += 1
    if (this.#depth > maxDepth) {
      throw refusal('malformed_body', `the body is nested more than ${maxDepth} levels deep`)
    }
    this.#isObject[this.#depth] = isObject
    this.#handler.open(this.#chunkOffset + at, this.#depth, isObject)
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
    if (isObject) this.#name.separator = this.#chunkOffset + at
    this.#expected = isObject ? expectations.name : expectations.value
    return at + 1
  }

  #endValue(at: number, isEmpty = false): void {
    if (this.#isObject[this.#depth] === true)
      this.#handler.valueEnd(this.#chunkOffset + at, this.#depth, isEmpty)
    if (this.#depth === 0) this.#lastByte = this.#chunkOffset + at - 1
    this.#expected = this.#depth === 0 ? expectations.end : expectations.after
  }

  #beginName(byte: number, at: number): number {
    if (byte !== quote) throw invalidJsonError()
    this.#name.begin(at)
    this.#expected = expectations.string
    return at + 1
  }

  #endName(end: number): void {
    this.#name.assertLength(this.#chunkOffset + end)
    this.#expected = expectations.colon
    this.#handler.name(this.#name.end(this.#chunk, end), this.#depth, this.#name.separator)
  }

  #awaitsName(): boolean {
    return (
      this.#name.isOpen || this.#expected === expectations.name || this.#expected === expectations.firstName
    )
  }

  #scanString(from: number): number {
    const chunk = this.#chunk
    const { length } = chunk
    let at = from
    let byte = 0
    while (at < length) {
      byte = chunk[at] ?? noByte
      if (byte === quote || byte === backslash || byte < 0x20) break
      at += 1
    }
    if (at === length) return at
    if (byte === quote) {
      if (this.#name.isOpen) this.#endName(at + 1)
      else this.#endValue(at + 1)
    } else if (byte === backslash) {
      this.#name.isEscaped = true
      this.#expected = expectations.escape
    } else {
      throw invalidJsonError()
    }
    return at + 1
  }

  #scanEscape(at: number): number {
    const byte = this.#chunk[at] ?? noByte
    if (byte === 0x75) {
      this.#count = 0
      this.#expected = expectations.hex
    } else if (escapable.has(byte)) {
      this.#expected = expectations.string
    } else {
      throw invalidJsonError()
    }
    return at + 1
  }

  #scanHex(at: number): number {
    const byte = this.#chunk[at] ?? noByte
    const isHex =
      (byte >= 0x30 && byte <= 0x39) || (byte >= 0x41 && byte <= 0x46) || (byte >= 0x61 && byte <= 0x66)
    if (!isHex) throw invalidJsonError()
    this.#count += 1
    if (this.#count === 4) this.#expected = expectations.string
    return at + 1
  }

  #continueNumber(from: number): number {
    const chunk = this.#chunk
    const { length } = chunk
    let part = this.#numberPart
    let at = from
    while (at < length) {
      const next = continueNumber(part, chunk[at] ?? noByte)
      if (next === noNumber) break
      part = next
      at += 1
    }
    this.#numberPart = part
    if (at === length) return at
    if (!canEndNumber(part)) throw invalidJsonError()
    this.#endValue(at)
    return at
  }

  #continueLiteral(at: number): number {
    if (this.#chunk[at] !== this.#literal[this.#count]) throw invalidJsonError()
    this.#count += 1
    if (this.#count === this.#literal.length) this.#endValue(at + 1)
    return at + 1
  }
}

function invalidJsonError(): CatalogError {
  return refusal('malformed_body', 'the body is not valid JSON')
}
