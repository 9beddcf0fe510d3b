import { refusal, type InterfaceError } from '../../interface/errors.ts'
import { JsonName } from './json-name.ts'
import { continueNumber, isWholeNumber, noNumber } from './json-number.ts'
import { Utf8Check } from './utf8-check.ts'

/** Who is told of the members of all objects in a JSON text. Places are offsets in the whole text, in bytes. */
export interface MemberEvents {
  readonly openObject: (at: number) => void
  /** A comma between two members. */
  readonly comma: (at: number) => void
  /** A name, as it is read: `"\u0069d"` is `id`. The members of the outermost object have depth 1. */
  readonly name: (name: string, depth: number) => void
  /** The value of a member begins. */
  readonly value: (at: number) => void
  /** The first item of a list begins. */
  readonly firstItem: () => void
  /** The value of a member has ended before that offset; whether it is an object or a list without anything in it. */
  readonly valueEnd: (at: number, depth: number, isEmpty: boolean) => void
  readonly closeObject: () => void
}

const maximumDepth = 64

const quote = 0x22
const backslash = 0x5c
const nothing = Buffer.alloc(0)
const escapable: ReadonlySet<number> = new Set(Buffer.from('"\\/bfnrt'))
const literals = new Map(['true', 'false', 'null'].map((word) => [word.charCodeAt(0), Buffer.from(word)]))

/** What may come next. */
const expected = {
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
 * Reads a JSON text in whatever pieces it comes: strict UTF-8 without a byte order mark, RFC 8259 to the letter, an
 * object or `null` or nothing at all, at most 64 levels deep. It keeps nothing of it but a name that is cut by the end
 * of a piece. Every method throws InvalidInput (400) as soon as no further piece can make the text good.
 */
export class JsonScanner {
  readonly #events: MemberEvents
  readonly #utf8 = new Utf8Check()
  #next: number = expected.start
  #piece: Buffer = nothing
  /** Where the piece begins in the whole text. */
  #base = 0
  /** How many objects and lists are open, and which of them are objects. */
  #depth = 0
  readonly #isObject: boolean[] = [false]
  #number = noNumber
  #literal: Buffer = nothing
  /** How many bytes of a literal, or digits of an escape, have been read. */
  #count = 0
  #isNull = false
  /** The last name, or the one that comes next. */
  readonly #name = new JsonName()

  constructor(events: MemberEvents) {
    this.#events = events
  }

  /** Reads the next piece. */
  push(piece: Buffer): void {
    if (!this.#utf8.push(piece)) throw refusal('malformed_body', 'the body is not valid UTF-8')
    this.#piece = piece
    let index = 0
    while (index < piece.length) index = this.#step(index)
    this.#base += piece.length
    if (this.#name.isOpen) this.#name.keep(piece)
    if (this.#awaitsName()) this.#name.limit(this.#base)
  }

  /** The text is at its end. Answers whether it is an object, and not `null` or empty. */
  end(): boolean {
    if (!this.#utf8.end()) throw refusal('malformed_body', 'the body is not valid UTF-8')
    if (this.#next === expected.start) return false
    if (this.#next !== expected.end) throw notJson()
    return !this.#isNull
  }

  /** How much of the text is before any name that is not known yet, and before the comma that would go with it. */
  get settled(): number {
    return this.#awaitsName() ? this.#name.separator : this.#base
  }

  /** Reads at least one byte, or comes to expect something else; answers where to go on. */
  #step(at: number): number {
    switch (this.#next) {
      case expected.string:
        return this.#string(at)
      case expected.number:
        return this.#continueNumber(at)
      case expected.escape:
        return this.#escape(at)
      case expected.hex:
        return this.#hex(at)
      case expected.literal:
        return this.#continueLiteral(at)
      default:
        return this.#token(at)
    }
  }

  #token(at: number): number {
    const byte = this.#piece[at] as number
    if (byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09) return at + 1
    switch (this.#next) {
      case expected.after:
        return this.#after(byte, at)
      case expected.firstItem:
        return byte === 0x5d ? this.#close(at) : this.#value(byte, at)
      case expected.value:
        return this.#value(byte, at)
      case expected.firstName:
        return byte === 0x7d ? this.#close(at) : this.#beginName(byte, at)
      case expected.name:
        return this.#beginName(byte, at)
      case expected.colon:
        if (byte !== 0x3a) throw notJson()
        this.#next = expected.value
        return at + 1
      case expected.start:
        return this.#start(byte, at)
      default:
        throw notJson()
    }
  }

  #start(byte: number, at: number): number {
    if (byte === 0x7b) return this.#value(byte, at)
    if (byte === 0x6e) {
      this.#isNull = true
      return this.#value(byte, at)
    }
    if (this.#piece.subarray(at, at + 3).toString('latin1') === '\u00ef\u00bb\u00bf') {
      throw refusal('malformed_body', 'the body begins with a byte order mark; send plain UTF-8')
    }
    const isJson =
      byte === 0x5b || byte === quote || literals.has(byte) || continueNumber(noNumber, byte) !== noNumber
    throw isJson ? refusal('malformed_body', 'the body is JSON, but not an object') : notJson()
  }

  #value(byte: number, at: number): number {
    if (this.#isObject[this.#depth] === true) this.#events.value(this.#base + at)
    else if (this.#next === expected.firstItem) this.#events.firstItem()
    switch (byte) {
      case quote:
        this.#next = expected.string
        return at + 1
      case 0x7b:
        this.#open(true)
        this.#name.separator = this.#base + at
        this.#events.openObject(this.#name.separator)
        this.#next = expected.firstName
        return at + 1
      case 0x5b:
        this.#open(false)
        this.#next = expected.firstItem
        return at + 1
      default:
        return this.#beginScalar(byte, at)
    }
  }

  #beginScalar(byte: number, at: number): number {
    const number = continueNumber(noNumber, byte)
    if (number !== noNumber) {
      this.#number = number
      this.#next = expected.number
      return at + 1
    }
    const literal = literals.get(byte)
    if (literal === undefined) throw notJson()
    this.#literal = literal
    this.#count = 1
    this.#next = expected.literal
    return at + 1
  }

  #open(isObject: boolean): void {
    this.#depth += 1
    if (this.#depth > maximumDepth) {
      throw refusal('malformed_body', `the body is nested more than ${maximumDepth} levels deep`)
    }
    this.#isObject[this.#depth] = isObject
  }

  #close(at: number): number {
    const isEmpty = this.#next === expected.firstName || this.#next === expected.firstItem
    if (this.#isObject[this.#depth] === true) this.#events.closeObject()
    this.#depth -= 1
    this.#ended(at + 1, isEmpty)
    return at + 1
  }

  /** Behind a value: a comma, or the end of the object or list, of its own kind. */
  #after(byte: number, at: number): number {
    const isObject = this.#isObject[this.#depth] === true
    if (byte === (isObject ? 0x7d : 0x5d)) return this.#close(at)
    if (byte !== 0x2c) throw notJson()
    if (isObject) {
      this.#name.separator = this.#base + at
      this.#events.comma(this.#name.separator)
    }
    this.#next = isObject ? expected.name : expected.value
    return at + 1
  }

  #ended(at: number, isEmpty = false): void {
    if (this.#isObject[this.#depth] === true) this.#events.valueEnd(this.#base + at, this.#depth, isEmpty)
    this.#next = this.#depth === 0 ? expected.end : expected.after
  }

  #beginName(byte: number, at: number): number {
    if (byte !== quote) throw notJson()
    this.#name.begin(at)
    this.#next = expected.string
    return at + 1
  }

  #endName(end: number): void {
    this.#name.limit(this.#base + end)
    this.#next = expected.colon
    this.#events.name(this.#name.end(this.#piece, end), this.#depth)
  }

  #awaitsName(): boolean {
    return this.#name.isOpen || this.#next === expected.name || this.#next === expected.firstName
  }

  #string(from: number): number {
    const piece = this.#piece
    const { length } = piece
    let at = from
    let byte = 0
    while (at < length) {
      byte = piece[at] as number
      if (byte === quote || byte === backslash || byte < 0x20) break
      at += 1
    }
    if (at === length) return at
    if (byte === quote) {
      if (this.#name.isOpen) this.#endName(at + 1)
      else this.#ended(at + 1)
    } else if (byte === backslash) {
      this.#name.isEscaped = true
      this.#next = expected.escape
    } else {
      throw notJson()
    }
    return at + 1
  }

  #escape(at: number): number {
    const byte = this.#piece[at] as number
    if (byte === 0x75) {
      this.#count = 0
      this.#next = expected.hex
    } else if (escapable.has(byte)) {
      this.#next = expected.string
    } else {
      throw notJson()
    }
    return at + 1
  }

  #hex(at: number): number {
    const byte = this.#piece[at] as number
    const isHex =
      (byte >= 0x30 && byte <= 0x39) || (byte >= 0x41 && byte <= 0x46) || (byte >= 0x61 && byte <= 0x66)
    if (!isHex) throw notJson()
    this.#count += 1
    if (this.#count === 4) this.#next = expected.string
    return at + 1
  }

  #continueNumber(from: number): number {
    const piece = this.#piece
    const { length } = piece
    let part = this.#number
    let at = from
    while (at < length) {
      const next = continueNumber(part, piece[at] as number)
      if (next === noNumber) break
      part = next
      at += 1
    }
    this.#number = part
    if (at === length) return at
    if (!isWholeNumber(part)) throw notJson()
    this.#ended(at)
    return at
  }

  #continueLiteral(at: number): number {
    if (this.#piece[at] !== this.#literal[this.#count]) throw notJson()
    this.#count += 1
    if (this.#count === this.#literal.length) this.#ended(at + 1)
    return at + 1
  }
}

function notJson(): InterfaceError {
  return refusal('malformed_body', 'the body is not valid JSON')
}
