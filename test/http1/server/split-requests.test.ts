import fc from 'fast-check'
import { expect, it } from 'vitest'
import { RequestParser } from '../../../src/http1/server/request-parser.ts'
import { isThorough } from '../../support/thorough.ts'
import { writtenRequest, type WrittenRequest } from './written-requests.ts'

type Found = Omit<WrittenRequest, 'bytes'> & { isComplete: boolean }

const maximumHeadBytes = 8 * 1024

/** Parses the chunks, and overwrites each after it is read. */
function read(chunks: readonly Buffer[], maximum = maximumHeadBytes): Found[] {
  const found: Found[] = []
  const reader = new RequestParser(
    {
      onRequestStart: ({ method, target, version, headers, body }) =>
        found.push({ method, target, version, headers, body: '', isComplete: body === 0 }),
      onRequestData: (bytes) =>
        Object.assign(last(found), { body: last(found).body + bytes.toString('latin1') }),
      onRequestEnd: () => Object.assign(last(found), { isComplete: true }),
    },
    maximum,
  )
  for (const chunk of chunks) {
    const bytes = Buffer.from(chunk)
    for (let at = 0; at < bytes.length;) {
      const end = reader.parse(bytes, at)
      expect(end).toBeGreaterThan(at)
      at = end
    }
    bytes.fill('?')
  }
  return found
}

function last(found: Found[]): Found {
  const one = found.at(-1)
  if (one === undefined) throw new Error('a body without a head')
  return one
}

function meant(requests: readonly WrittenRequest[]): Found[] {
  return requests.map(({ bytes: _bytes, ...request }) => ({ ...request, isComplete: true }))
}

function bytesOf(requests: readonly WrittenRequest[]): Buffer {
  return Buffer.from(requests.map(({ bytes }) => bytes).join(''), 'latin1')
}

function inChunks(bytes: Buffer, sizes: readonly number[]): Buffer[] {
  const chunks: Buffer[] = []
  for (let at = 0, index = 0; at < bytes.length; index += 1) {
    const end = at + (sizes[index % sizes.length] ?? 1)
    chunks.push(bytes.subarray(at, end))
    at = end
  }
  return chunks
}

it('parses requests the same for any split', () => {
  const requests = fc.array(writtenRequest, { minLength: 1, maxLength: 4 })
  const sizes = fc.array(fc.oneof(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 400 })), {
    minLength: 1,
    maxLength: 20,
  })
  const property = fc.property(requests, sizes, (sent, lengths) => {
    const bytes = bytesOf(sent)
    expect(read([bytes])).toEqual(meant(sent))
    expect(read(inChunks(bytes, lengths))).toEqual(meant(sent))
    expect(read(inChunks(bytes, [1]))).toEqual(meant(sent))
  })
  fc.assert(property, { numRuns: isThorough ? 5_000 : 25 })
})

it('parses requests split between any two bytes', () => {
  const text =
    '\r\n\r\nPOST /a HTTP/1.1\r\nhost: g\r\ntransfer-encoding: chunked\r\n\r\n3;x\r\n\r\n0\r\nb\r\n0123456789a\r\n0\r\nc: d\r\n\r\n' +
    '\r\nPUT /b HTTP/1.1\r\nhost: g\r\ncontent-length: 4\r\n\r\n\r\n\r\nGET /c HTTP/1.1\r\n\r\n'
  const whole = Buffer.from(text)
  const expected = read([whole])
  expect(expected.map(({ target, body }) => [target, body])).toEqual([
    ['/a', '\r\n00123456789a'],
    ['/b', '\r\n\r\n'],
    ['/c', ''],
  ])
  for (let at = 1; at < whole.length; at += 1)
    expect(read([whole.subarray(0, at), whole.subarray(at)])).toEqual(expected)
})

it('accepts a head of the maximum size and rejects a larger one, for any split', () => {
  const maximum = 200
  const before = 'GET / HTTP/1.1\r\nhost: g\r\nx: '
  const heads = [maximum, maximum + 1].map((length) =>
    Buffer.from(`${before}${'y'.repeat(length - before.length)}\r\n\r\nGET /next HTTP/1.1\r\n\r\n`),
  )
  for (let size = 1; size <= 250; size += 1) {
    const [exact, larger] = heads.map((head) => inChunks(head, [size]))
    expect(read(exact ?? [], maximum)).toHaveLength(2)
    expect(() => read(larger ?? [], maximum)).toThrow(`a head of more than ${maximum} bytes`)
  }
})

it('rejects an endless head soon after the maximum size', () => {
  const reader = new RequestParser(
    { onRequestStart: () => {}, onRequestData: () => {}, onRequestEnd: () => {} },
    maximumHeadBytes,
  )
  let bytes = 0
  expect(() => {
    for (let chunk = Buffer.from('GET / HTTP/1.1\r\n'); ; chunk = Buffer.from('x: y\r\n'))
      bytes += reader.parse(chunk, 0)
  }).toThrow('a head of more than')
  expect(bytes).toBeLessThan(maximumHeadBytes + 16)
})

it('retains no empty lines before a head', () => {
  const reader = new RequestParser(
    { onRequestStart: () => {}, onRequestData: () => {}, onRequestEnd: () => {} },
    maximumHeadBytes,
  )
  const lines = Buffer.from(`\n${'\r\n'.repeat(32 * 1024)}\r`)
  reader.parse(Buffer.from('\r'), 0)
  const before = process.memoryUsage().arrayBuffers
  for (let round = 0; round < 500; round += 1)
    for (let at = 0; at < lines.length;) at = reader.parse(lines, at)
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(8 * 1024 * 1024)
})
