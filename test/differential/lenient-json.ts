/** A JSON value whose objects keep duplicate members, in order. */
export type LenientValue = string | number | boolean | null | readonly LenientValue[] | LenientObject

export interface LenientObject {
  readonly members: readonly (readonly [name: string, value: LenientValue])[]
}

/**
 * Accepts what any JSON parser accepts: byte order marks, UTF-16, comments, single quotes, unquoted names, extra commas,
 * trailing bytes. Returns undefined if the bytes are not an object.
 */
export function parseLenientJson(bytes: Buffer): LenientObject | undefined {
  const parser = new LenientParser(decodeText(bytes))
  try {
    const value = parser.value(0)
    return isLenientObject(value) ? value : undefined
  } catch (error) {
    if (error instanceof LenientSyntaxError) return undefined
    throw error
  }
}

export function isLenientObject(value: LenientValue | undefined): value is LenientObject {
  return typeof value === 'object' && value !== null && 'members' in value
}

class LenientSyntaxError extends Error {}

function decodeText(bytes: Buffer): string {
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
const unquoted = /[^\s,:{}[\]"']+/y
const escapes: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' }

class LenientParser {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  value(depth: number): LenientValue {
    if (depth > 2_000) throw new LenientSyntaxError()
    switch (this.#peek()) {
      case '{':
        return this.#object(depth)
      case '[':
        return this.#list(depth)
      case '"':
      case "'":
        return this.#string()
      default:
        return parseLiteral(this.#take(unquoted))
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
      const name = next === '"' || next === "'" ? this.#string() : this.#take(unquoted)
      const separator = this.#peek()
      if (separator !== ':' && separator !== '=') throw new LenientSyntaxError()
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

  /** Skips whitespace and comments, and returns the next character, empty at the end. */
  #peek(): string {
    space.lastIndex = this.#at
    this.#at += space.exec(this.#text)?.[0].length ?? 0
    return this.#text[this.#at] ?? ''
  }

  #take(pattern: RegExp): string {
    pattern.lastIndex = this.#at
    const text = pattern.exec(this.#text)?.[0]
    if (text === undefined) throw new LenientSyntaxError()
    this.#at += text.length
    return text
  }
}

function parseLiteral(text: string): LenientValue {
  if (text === 'null') return null
  if (text === 'true' || text === 'false') return text === 'true'
  const number = Number(text)
  return Number.isNaN(number) ? text : number
}
