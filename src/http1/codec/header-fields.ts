import { fieldNameGrammar } from '../../lib/index.ts'

/**
 * Parsers differ on a CR or LF outside of CRLF. This takes a third of the time of searching for a forbidden character.
 */
export const headGrammar = /^[\t\x20-\x7e\x80-\xff]*(?:\r\n[\t\x20-\x7e\x80-\xff]*)*$/
const forbiddenInValue = /[^\t\x20-\x7e\x80-\xff]/
export const contentLengthGrammar = /^[0-9]{1,15}$/

/**
 * Parses the header lines of a head from an offset on (RFC 9112, section 5). Returns lower-case names and values in
 * turn. Throws `createError(problem)` for an invalid name and for more than `maxFields` headers; `problem` completes
 * "the message has ...".
 */
export function parseHeaderFields(
  text: string,
  from: number,
  createError: (problem: string) => Error,
  maxFields = Infinity,
): string[] {
  const headers: string[] = []
  for (let at = from; at < text.length;) {
    const found = text.indexOf('\r\n', at)
    const end = found === -1 ? text.length : found
    const colon = text.indexOf(':', at)
    const name = colon === -1 || colon >= end ? '' : text.slice(at, colon)
    if (!fieldNameGrammar.test(name)) throw createError('a header with an invalid name')
    if (headers.length === maxFields * 2) throw createError('too many headers')
    headers.push(name.toLowerCase(), trim(text, colon + 1, end))
    at = end + 2
  }
  return headers
}

/** Whether the header is one valid line of a head. */
export function isHeaderField(name: string, value: string): boolean {
  return fieldNameGrammar.test(name) && !forbiddenInValue.test(value)
}

function trim(text: string, from: number, to: number): string {
  let start = from
  let end = to
  while (start < end && isBlank(text.charCodeAt(start))) start += 1
  while (start < end && isBlank(text.charCodeAt(end - 1))) end -= 1
  return text.slice(start, end)
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09
}

/** Returns the value of a header (lower-case name) in a list of names and values; undefined if missing or repeated. */
export function findSingleHeader(headers: readonly string[], name: string): string | undefined {
  let single: string | undefined
  for (let index = 0; index < headers.length; index += 2) {
    if (headers[index] !== name) continue
    if (single !== undefined) return undefined
    single = headers[index + 1] ?? ''
  }
  return single
}
