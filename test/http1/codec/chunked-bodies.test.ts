import { describe, expect, it } from 'vitest'
import { ChunkedDecoder } from '../../../src/http1/codec/chunked-decoder.ts'

/** Decodes the text in chunks of that size: the body, its end, and whether it was complete. */
function decodeChunked(
  text: string,
  chunkBytes = text.length,
): { body: string; end: number; isComplete: boolean } {
  const decoder = new ChunkedDecoder((message) => new Error(message))
  let body = ''
  let end = 0
  for (let from = 0; from < text.length && !decoder.isComplete; from += chunkBytes) {
    const bytes = Buffer.from(text.slice(from, from + chunkBytes), 'latin1')
    end =
      from +
      decoder.decode(bytes, 0, (chunk) => {
        body += chunk.toString('latin1')
        return true
      })
  }
  return { body, end, isComplete: decoder.isComplete }
}

const ends: ReadonlyArray<readonly [name: string, text: string, body: string]> = [
  ['no bytes', '0\r\n\r\n', ''],
  ['a size of several zeros', '000000000000\r\n\r\n', ''],
  ['several chunks', '3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n', 'abcde'],
  [
    'a size in hexadecimal digits of both cases',
    `1a\r\n${'x'.repeat(26)}\r\n1A\r\n${'y'.repeat(26)}\r\n0\r\n\r\n`,
    `${'x'.repeat(26)}${'y'.repeat(26)}`,
  ],
  ['a size of twelve digits', '000000000003\r\nabc\r\n0\r\n\r\n', 'abc'],
  ['line ends within the body', '4\r\n\r\n\r\n\r\n0\r\n\r\n', '\r\n\r\n'],
  ['extensions', '3;a=b\r\nabc\r\n0;c="d\t \x80";e\r\n\r\n', 'abc'],
  ['trailers', '3\r\nabc\r\n0\r\nA-1: \tb\x80\r\nc:\r\n\r\n', 'abc'],
  ['a trailer whose name only ends as a length does', '0\r\nx-content-length: 1\r\n\r\n', ''],
]

it.each(ends)('a chunked body is decoded to its end, also byte by byte, with %s', (_what, text, body) => {
  for (const chunkBytes of [undefined, 1])
    expect(decodeChunked(`${text}GET`, chunkBytes)).toEqual({ body, end: text.length, isComplete: true })
})

it('a chunked body is incomplete before its end', () => {
  for (const text of ['3\r\nabc\r\n0\r\n\r\n', '0\r\na: b\r\n\r\n'])
    for (let length = 0; length < text.length; length += 1)
      expect(decodeChunked(text.slice(0, length)).isComplete).toBe(false)
})

/** At once and byte by byte. */
function expectRejected(text: string, message: string | RegExp = /./): void {
  for (const chunkBytes of [undefined, 1]) expect(() => decodeChunked(text, chunkBytes)).toThrow(message)
}

describe('a chunked body is rejected', () => {
  it.each([
    ['a size of no digits', '\r\n'],
    ['a size that is no number', 'g\r\n'],
    ['a size of thirteen digits', '0000000000003\r\nabc\r\n'],
    ['a sign', '+3\r\n'],
    ['0x', '0x3\r\n'],
    ['a blank before the size', ' 3\r\n'],
    ['a blank behind the size', '3 \r\n'],
    ['words behind the size', '3 a\r\n'],
    ['an empty extension', '3;\r\nabc\r\n0\r\n\r\n'],
    ['a blank before an extension', '3 ;a\r\nabc\r\n0\r\n\r\n'],
    ['a quoted pair in an extension', '3;a="\\\\"\r\nabc\r\n0\r\n\r\n'],
    ['a control character in an extension', '3;\x00\r\n'],
    ['DEL in an extension', '3;\x7f\r\n'],
    ['an extension without a value', '3;a=\r\nabc\r\n0\r\n\r\n'],
    ['an extension whose quotes are open', '3;a="b\r\nabc\r\n0\r\n\r\n'],
    ['a size that is too large', 'fffffffffffffffff\r\nabc'],
    ['a line that ends with a line feed alone', '3\nabc\r\n'],
    ['a carriage return alone in a line', '3;\r;\r\n'],
    ['two carriage returns at the end of a line', '3\r\r\n'],
    ['a chunk that is longer than its size', '3\r\nabcd\r\n'],
    ['a chunk whose end is a line feed', '3\r\nabc\n'],
    ['a trailer without a colon', '0\r\na\r\n\r\n'],
    ['a trailer without a name', '0\r\n: b\r\n\r\n'],
    ['a trailer with a blank in its name', '0\r\na : b\r\n\r\n'],
    ['a folded trailer', '0\r\na: b\r\n c: d\r\n\r\n'],
    ['a control character in a trailer', '0\r\na: \x00\r\n\r\n'],
    ['a length behind the body', '0\r\nContent-Length: 3\r\n\r\n'],
    ['an encoding behind the body', '0\r\ntransfer-encoding:chunked\r\n\r\n'],
    ['the end of the connection behind the body', '0\r\nConnection:close\r\n\r\n'],
    ['the end of the connection under its other name', '0\r\nproxy-connection: close\r\n\r\n'],
    ['another protocol behind the body', '0\r\nupgrade: h2c\r\n\r\n'],
  ])('with %s', (_what, text) => expectRejected(text))

  const beginnings = 'g|3g|3 a|3;\x00|3\ra|aaaaaaaaaaaaa|3\r\nabcd|3\r\nabc\ra|0\r\na\x00|0\r\n\ra'
  it.each(beginnings.split('|'))('before the end of the line: %j', expectRejected)
})

describe('lines of a chunked body', () => {
  const tooLong = 'a line between chunks is too long'

  it('may have 256 bytes around a size', () => {
    const extension = `;${'a'.repeat(256 - '3;\r\n'.length)}`
    expect(decodeChunked(`3${extension}\r\nabc\r\n0\r\n\r\n`).body).toBe('abc')
    expectRejected(`3;a${extension}\r\nabc\r\n0\r\n\r\n`, tooLong)
    expectRejected(`3${extension}aaa`, tooLong)
  })

  it('have independent limits', () => {
    const chunk = `3;${'a'.repeat(200)}\r\nabc\r\n`
    expect(decodeChunked(`${chunk.repeat(3)}0\r\n\r\n`, 7).body).toBe('abcabcabc')
  })

  it('may have 16 KiB of trailers, with the empty line at their end', () => {
    const trailers = `a: ${'b'.repeat(8 * 1024 - 5)}\r\nc: ${'d'.repeat(8 * 1024 - 7)}\r\n`
    expect(decodeChunked(`0\r\n${trailers}\r\n`).isComplete).toBe(true)
    expectRejected(`0\r\ne${trailers}\r\n`, tooLong)
  })
})

it('a consumer that returns false stops the decoder behind its data', () => {
  const decoder = new ChunkedDecoder((message) => new Error(message))
  const text = '3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n'
  const bytes = Buffer.from(text)
  const taken: string[] = []
  let at = 0
  const take = (chunk: Buffer): boolean => {
    taken.push(chunk.toString())
    return false
  }
  at = decoder.decode(bytes, at, take)
  expect({ at, taken }).toEqual({ at: text.indexOf('abc') + 3, taken: ['abc'] })
  at = decoder.decode(bytes, at, take)
  expect({ at, taken }).toEqual({ at: text.indexOf('de') + 2, taken: ['abc', 'de'] })
  expect(decoder.isComplete).toBe(false)
  at = decoder.decode(bytes, at, take)
  expect({ at, isComplete: decoder.isComplete }).toEqual({ at: text.length, isComplete: true })
  expect(decoder.decode(bytes, at, take)).toBe(at)
})
