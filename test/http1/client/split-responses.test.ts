import fc from 'fast-check'
import { expect, it } from 'vitest'
import { ResponseParser } from '../../../src/http1/client/response-parser.ts'
import { isThorough } from '../../support/thorough.ts'

interface Reading {
  status: number
  headers: readonly string[]
  body: string
  ends: number
}

function read(chunks: readonly Buffer[]): Reading {
  const reading: Reading = { status: 0, headers: [], body: '', ends: 0 }
  const reader = new ResponseParser({
    onResponseStart: ({ status, headers }) => Object.assign(reading, { status, headers }),
    onResponseData: (chunk) => (reading.body += chunk.toString('latin1')),
    onResponseEnd(last) {
      reading.body += last?.toString('latin1') ?? ''
      reading.ends += 1
    },
  })
  // Each chunk is overwritten when it has been read, like the buffer of a connection.
  for (const chunk of chunks) {
    const bytes = Buffer.from(chunk)
    reader.parse(bytes)
    bytes.fill('?')
  }
  return reading
}

function cut(bytes: Buffer, positions: readonly number[]): Buffer[] {
  const cuts = [...positions.map((position) => position % bytes.length), bytes.length].toSorted(
    (a, b) => a - b,
  )
  return cuts
    .map((end, index) => bytes.subarray(cuts[index - 1] ?? 0, end))
    .filter(({ length }) => length > 0)
}

const body = fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes).toString('latin1'))
const extension = fc.constantFrom('', ';a', ';a="b ;"')

const responses = fc.oneof(
  body.map((text) => ({ text, bytes: `content-length: ${text.length}\r\n\r\n${text}` })),
  fc
    .tuple(fc.array(fc.tuple(body, extension)), fc.constantFrom('', 'a: b\r\n', 'a: b\r\nc:\r\n'))
    .map(([parts, trailers]) => ({
      text: parts.map(([part]) => part).join(''),
      bytes: `transfer-encoding: chunked\r\n\r\n${parts
        .filter(([part]) => part !== '')
        .map(([part, behind]) => `${part.length.toString(16)}${behind}\r\n${part}\r\n`)
        .join('')}0\r\n${trailers}\r\n`,
    })),
)
const interim = fc.constantFrom(
  '',
  'HTTP/1.1 100 Continue\r\n\r\n',
  'HTTP/1.1 103 X\r\na: b\r\n\r\n'.repeat(2),
)

it('parses a response the same for any split', () => {
  const property = fc.property(
    interim,
    responses,
    fc.array(fc.nat()),
    (before, { text, bytes }, positions) => {
      const whole = Buffer.from(`${before}HTTP/1.1 201 Made\r\nX: y\r\n${bytes}`, 'latin1')
      const found = read(cut(whole, positions))
      expect(found).toMatchObject({ status: 201, body: text, ends: 1 })
      expect(found.headers.slice(0, 2)).toEqual(['x', 'y'])
    },
  )
  fc.assert(property, { numRuns: isThorough ? 500 : 30 })
})

it('parses a response split at every byte, and byte by byte', () => {
  const text =
    'HTTP/1.1 103 X\r\n\r\nHTTP/1.1 200 OK\r\na: b\r\ntransfer-encoding: chunked\r\n\r\n3;x\r\n\r\n0\r\nb\r\n0123456789a\r\n0\r\nc: d\r\n\r\n'
  const whole = Buffer.from(text)
  const expected = { status: 200, body: '\r\n00123456789a', ends: 1 }
  expect(read([whole])).toMatchObject(expected)
  for (let at = 1; at < whole.length; at += 1)
    expect(read([whole.subarray(0, at), whole.subarray(at)])).toMatchObject(expected)
  expect(read([...whole].map((byte) => Buffer.of(byte)))).toMatchObject(expected)
})
