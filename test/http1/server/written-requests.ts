import { METHODS } from 'node:http'
import fc from 'fast-check'

/** A request, and how it is written. */
export interface WrittenRequest {
  readonly method: string
  readonly target: string
  readonly version: string
  /** Lower-case names and values in turn. */
  readonly headers: readonly string[]
  readonly body: string
  /** In latin1. */
  readonly bytes: string
}

const letters = 'abcdefghijklmnopqrstuvwxyz0123456789-._~'
const method = fc.constantFrom(...METHODS.filter((name) => name !== 'CONNECT'))
const target = fc.string({ unit: oneOf(`${letters}/%$?&=+!*;:@`), maxLength: 40 }).map((text) => `/${text}`)
const name = fc.string({ unit: oneOf(letters), minLength: 1, maxLength: 12 }).map((text) => `x-${text}`)
const value = fc
  .string({ unit: oneOf(`${letters} \t"(),/:;<=>?@[]{}\xa0\xff`), maxLength: 30 })
  .map((text) => text.replace(/^[ \t]+|[ \t]+$/g, ''))
const blanks = fc.constantFrom('', ' ', '\t', ' \t ')
const header = fc
  .tuple(name, value, blanks, blanks, fc.boolean())
  .map(([called, says, before, behind, isLoud]) => ({
    called,
    says,
    line: `${isLoud ? called.toUpperCase() : called}:${before}${says}${behind}\r\n`,
  }))
const body = fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes).toString('latin1'))
const extension = fc.constantFrom('', ';a', ';a=b', ';a="b c"')
const trailers = fc.constantFrom('', 'a: b\r\n', 'a: b\r\nc:\r\n')

/** A framing header, its meaning, and how it is written. */
const framed = fc.oneof(
  fc.constant({ line: [], text: '', written: '' }),
  body.map((text) => ({ line: ['content-length', String(text.length)], text, written: text })),
  fc
    .tuple(fc.array(fc.tuple(body, extension), { maxLength: 5 }), extension, trailers)
    .map(([parts, last, behind]) => ({
      line: ['transfer-encoding', 'chunked'],
      text: parts.map(([part]) => part).join(''),
      written: `${parts
        .filter(([part]) => part !== '')
        .map(([part, more]) => `${part.length.toString(16)}${more}\r\n${part}\r\n`)
        .join('')}0${last}\r\n${behind}\r\n`,
    })),
)

/** Valid requests, in all forms that HTTP/1.1 allows. */
export const writtenRequest: fc.Arbitrary<WrittenRequest> = fc
  .tuple(
    fc.constantFrom('', '', '\r\n', '\r\n\r\n'),
    method,
    target,
    fc.array(header, { maxLength: 5 }),
    framed,
  )
  .map(([before, called, at, others, { line, text, written }]) => ({
    method: called,
    target: at,
    version: '1.1',
    headers: ['host', 'g', ...others.flatMap(({ called: one, says }) => [one, says]), ...line],
    body: text,
    bytes:
      `${before}${called} ${at} HTTP/1.1\r\nhost: g\r\n${others.map((one) => one.line).join('')}` +
      `${line.length > 0 ? `${line.join(': ')}\r\n` : ''}\r\n${written}`,
  }))

function oneOf(characters: string): fc.Arbitrary<string> {
  return fc.constantFrom(...characters.split(''))
}
