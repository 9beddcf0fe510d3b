import { METHODS } from 'node:http'
import fc from 'fast-check'

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
  .map(([name, value, before, after, isUpperCase]) => ({
    name,
    value,
    line: `${isUpperCase ? name.toUpperCase() : name}:${before}${value}${after}\r\n`,
  }))
const body = fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes).toString('latin1'))
const extension = fc.constantFrom('', ';a', ';a=b', ';a="b c"')
const trailers = fc.constantFrom('', 'a: b\r\n', 'a: b\r\nc:\r\n')

/** A framing header (name and value), the body, and its encoded bytes. */
const framedBody = fc.oneof(
  fc.constant({ header: [], text: '', encoded: '' }),
  body.map((text) => ({ header: ['content-length', String(text.length)], text, encoded: text })),
  fc
    .tuple(fc.array(fc.tuple(body, extension), { maxLength: 5 }), extension, trailers)
    .map(([chunks, lastExtension, trailers]) => ({
      header: ['transfer-encoding', 'chunked'],
      text: chunks.map(([chunk]) => chunk).join(''),
      encoded: `${chunks
        .filter(([chunk]) => chunk !== '')
        .map(([chunk, extension]) => `${chunk.length.toString(16)}${extension}\r\n${chunk}\r\n`)
        .join('')}0${lastExtension}\r\n${trailers}\r\n`,
    })),
)

/** Valid requests, in all forms that HTTP/1.1 allows. */
export const writtenRequest: fc.Arbitrary<WrittenRequest> = fc
  .tuple(
    fc.constantFrom('', '', '\r\n', '\r\n\r\n'),
    method,
    target,
    fc.array(header, { maxLength: 5 }),
    framedBody,
  )
  .map(([emptyLines, method, target, others, { header, text, encoded }]) => ({
    method,
    target,
    version: '1.1',
    headers: ['host', 'g', ...others.flatMap(({ name, value }) => [name, value]), ...header],
    body: text,
    bytes:
      `${emptyLines}${method} ${target} HTTP/1.1\r\nhost: g\r\n${others.map(({ line }) => line).join('')}` +
      `${header.length > 0 ? `${header.join(': ')}\r\n` : ''}\r\n${encoded}`,
  }))

function oneOf(characters: string): fc.Arbitrary<string> {
  return fc.constantFrom(...characters.split(''))
}
