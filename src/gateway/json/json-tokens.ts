import { type CatalogError, refusal } from '../../catalog-api/index.ts'
import type { JsonKind } from '../../lib/index.ts'

/*
 * The tokens of a JSON text (RFC 8259). A function that skips one takes its offset, and returns the offset behind it. All throw
 * InvalidInput (400) at a byte that cannot be valid.
 */

/** Of names, and of digits and spaces in a row: there is no pause within them. */
const maxTokenBytes = 64 * 1024

const quote = 0x22
const backslash = 0x5c
const minus = 0x2d
/** Behind the end of the text: no JSON contains it. */
const noByte = 0
const escapable: ReadonlySet<number> = new Set(Buffer.from('"\\/bfnrt'))

const runs = { spaces: 1, digits: 2 } as const
const runsByByte = new Uint8Array(256)
for (const byte of Buffer.from(' \n\r\t')) runsByByte[byte] = runs.spaces
for (const byte of Buffer.from('0123456789')) runsByByte[byte] = runs.digits

const literalsByFirstByte = new Map(['true', 'false', 'null'].map((word) => [word.charCodeAt(0), word]))

/** An array is faster than a map. */
const kindsByFirstByte: (JsonKind | 'null' | undefined)[] = Array(256).fill(undefined)
for (const [kind, firstBytes] of [
  ['string', '"'],
  ['object', '{'],
  ['list', '['],
  ['boolean', 'tf'],
  ['null', 'n'],
  ['number', '-0123456789'],
] as const)
  for (const byte of Buffer.from(firstBytes)) kindsByFirstByte[byte] = kind

/** Returns the kind of the value at an offset. */
export function readKind(text: Buffer, at: number): JsonKind | 'null' {
  const kind = kindsByFirstByte[text[at] ?? noByte]
  if (kind === undefined) throw invalidJsonError()
  return kind
}

export function skipSpaces(text: Buffer, from: number): number {
  return skipRun(text, from, runs.spaces)
}

/** Skips `{}` or `[]`; undefined for any other value. */
export function skipEmpty(text: Buffer, from: number): number | undefined {
  const closing = text[from] === 0x7b ? 0x7d : text[from] === 0x5b ? 0x5d : undefined
  const at = skipSpaces(text, from + 1)
  return closing !== undefined && text[at] === closing ? at + 1 : undefined
}

/** Skips a number, `true`, `false` or `null`. */
export function skipScalar(text: Buffer, from: number): number {
  const literal = literalsByFirstByte.get(text[from] ?? noByte)
  if (literal === undefined) return skipNumber(text, from)
  const end = from + literal.length
  if (text.toString('latin1', from, end) !== literal) throw invalidJsonError()
  return end
}

function skipNumber(text: Buffer, from: number): number {
  let at = text[from] === minus ? from + 1 : from
  at = text[at] === 0x30 ? at + 1 : skipDigits(text, at)
  if (text[at] === 0x2e) at = skipDigits(text, at + 1)
  if (text[at] !== 0x65 && text[at] !== 0x45) return at
  const sign = text[at + 1]
  return skipDigits(text, sign === 0x2b || sign === minus ? at + 2 : at + 1)
}

function skipDigits(text: Buffer, from: number): number {
  const end = skipRun(text, from, runs.digits)
  if (end === from) throw invalidJsonError()
  return end
}

function skipRun(text: Buffer, from: number, run: number): number {
  let at = from
  while (runsByByte[text[at] ?? noByte] === run) {
    at += 1
    if (at - from > maxTokenBytes)
      throw refusal('malformed_body', `the body has more than ${maxTokenBytes} digits or spaces in a row`)
  }
  return at
}

/** Skips a name, with its quotes. */
export function skipName(text: Buffer, from: number): number {
  if (text[from] !== quote) throw invalidJsonError()
  const end = skipText(text, from + 1, maxTokenBytes)
  if (text[end] !== quote)
    throw refusal('malformed_body', `a name in the body is longer than ${maxTokenBytes} bytes`)
  return end + 1
}

/** Returns a name between two offsets, decoded: `"\u0069d"` is `id`. */
export function decodeName(text: Buffer, from: number, end: number): string {
  const name = text.toString('utf8', from + 1, end - 1)
  return name.includes('\\') ? String(JSON.parse(`"${name}"`)) : name
}

/** Skips the colon between a name and its value. */
export function skipColon(text: Buffer, from: number): number {
  const at = skipSpaces(text, from)
  if (text[at] !== 0x3a) throw invalidJsonError()
  return skipSpaces(text, at + 1)
}

/** Skips the text between the quotes of a string: up to the closing quote, or for `maxBytes`. */
export function skipText(text: Buffer, from: number, maxBytes: number): number {
  const end = from + maxBytes
  let at = from
  for (; at < end; at += 1) {
    const byte = text[at] ?? noByte
    if (byte === quote) return at
    if (byte < 0x20) throw invalidJsonError()
    if (byte === backslash) at = skipEscape(text, at + 1)
  }
  return at
}

/** Returns the offset of the last byte of an escape. */
function skipEscape(text: Buffer, at: number): number {
  const byte = text[at] ?? noByte
  if (escapable.has(byte)) return at
  const last = at + 4
  if (byte !== 0x75 || !/^[0-9a-fA-F]{4}$/.test(text.toString('latin1', at + 1, last + 1)))
    throw invalidJsonError()
  return last
}

export function invalidJsonError(): CatalogError {
  return refusal('malformed_body', 'the body is not valid JSON')
}
