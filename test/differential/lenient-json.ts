/** A value as a lenient reader has it; an object is a list of its members, in turn, also those that stand twice. */
export type LenientValue = string | number | boolean | null | readonly LenientValue[] | LenientObject

export interface LenientObject {
  readonly members: readonly (readonly [name: string, value: LenientValue])[]
}

/**
 * Reads whatever any reader of JSON would make of the bytes: with a byte order mark, in UTF-16, with comments, single
 * quotes, bare names, commas too many, and with anything behind it. Answers undefined for what is no object.
 */
export function readLeniently(bytes: Buffer): LenientObject | undefined {
  const reader = new LenientReader(decoded(bytes))
  try {
    const value = reader.value(0)
    return isLenientObject(value) ? value : undefined
  } catch (error) {
    if (error instanceof NotReadable) return undefined
    throw error
  }
}

export function isLenientObject(value: LenientValue | undefined): value is LenientObject {
  return typeof value === 'object' && value !== null && 'members' in value
}

class NotReadable extends Error {}

function decoded(bytes: Buffer): string {
  const [first, second] = bytes
  if (first === 0xff && second === 0xfe) return bytes.toString('utf16le')
  if (first === 0xfe && second === 0xff)
    return Buffer.from(bytes.subarray(0, bytes.length & ~1))
      .swap16()
      .toString('utf16le')
  if (first === 0 && second !== undefined) return bytes.toString('latin1').replaceAll('\0', '')
  if (second === 0) return bytes.toString('utf16le')
  return bytes.toString('utf8')
}

const space = /(?:[\s\ufeff\0]|\/\/[^\n]*|\/\*[\s\S]*?\*\/)*/y
const bare = /[^\s,:{}[\]"']+/y
const escapes: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' }

class LenientReader {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  value(depth: number): LenientValue {
    if (depth > 2_000) throw new NotReadable()
    switch (this.#peek()) {
      case '{':
        return this.#object(depth)
      case '[':
        return this.#list(depth)
      case '"':
      case "'":
        return this.#string()
      default:
        return literal(this.#take(bare))
    }
  }

  #object(depth: number): LenientObject {
    const members: [string, LenientValue][] = []
    this.#at += 1
    for (;;) {
      const next = this.#peek()
      if (next === '}' || next === '') break
      if (next === ',' || next === ';') {
        this.#at += 1
        continue
      }
      const name = next === '"' || next === "'" ? this.#string() : this.#take(bare)
      const separator = this.#peek()
      if (separator !== ':' && separator !== '=') throw new NotReadable()
      this.#at += 1
      members.push([name, this.value(depth + 1)])
    }
    this.#at += 1
    return { members }
  }

  #list(depth: number): LenientValue[] {
    const items: LenientValue[] = []
    this.#at += 1
    for (;;) {
      const next = this.#peek()
      if (next === ']' || next === '') break
      if (next === ',') this.#at += 1
      else items.push(this.value(depth + 1))
    }
    this.#at += 1
    return items
  }

  #string(): string {
    const quote = this.#text[this.#at]
    let value = ''
    for (this.#at += 1; this.#at < this.#text.length; this.#at += 1) {
      const character = this.#text[this.#at] ?? ''
      if (character === quote) break
      value += character === '\\' ? this.#escape() : character
    }
    this.#at += 1
    return value
  }

  #escape(): string {
    this.#at += 1
    const character = this.#text[this.#at] ?? ''
    if (character !== 'u') return escapes[character] ?? character
    const code = Number.parseInt(this.#text.slice(this.#at + 1, this.#at + 5), 16)
    this.#at += 4
    return String.fromCharCode(code)
  }

  /** The next character that is no space and no comment; empty at the end. */
  #peek(): string {
    space.lastIndex = this.#at
    this.#at += space.exec(this.#text)?.[0].length ?? 0
    return this.#text[this.#at] ?? ''
  }

  #take(pattern: RegExp): string {
    pattern.lastIndex = this.#at
    const text = pattern.exec(this.#text)?.[0]
    if (text === undefined) throw new NotReadable()
    this.#at += text.length
    return text
  }
}

function literal(text: string): LenientValue {
  if (text === 'null') return null
  if (text === 'true' || text === 'false') return text === 'true'
  const number = Number(text)
  return Number.isNaN(number) ? text : number
}
