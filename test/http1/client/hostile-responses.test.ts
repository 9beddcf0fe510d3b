import { expect, it } from 'vitest'
import { scripted, writesBytes, type Script } from './scripted-upstream.ts'

const ok = 'HTTP/1.1 200 OK\r\n'
const chunked = `${ok}transfer-encoding: chunked\r\n\r\n`
const hints = 'HTTP/1.1 103 Early Hints\r\na: b\r\n\r\n'
const headOf = (bytes: number) => `${ok}content-length: 1\r\na: `.padEnd(bytes, 'b')

it.each<[name: string, bytes: string]>([
  ['no status line', 'content-length: 0\r\n\r\n'],
  ['a banner of another protocol', '220 mail ready\r\n\r\n'],
  ['an unknown version', 'HTTP/1.2 200 OK\r\ncontent-length: 0\r\n\r\n'],
  ['a version of one number', 'HTTP/2 200\r\ncontent-length: 0\r\n\r\n'],
  ['a small version name', 'http/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'],
  ['a status of two digits', 'HTTP/1.1 20 OK\r\ncontent-length: 0\r\n\r\n'],
  ['a status of four digits', 'HTTP/1.1 2000 OK\r\ncontent-length: 0\r\n\r\n'],
  ['two blanks before its status', 'HTTP/1.1  200 OK\r\ncontent-length: 0\r\n\r\n'],
  ['a status above 599', 'HTTP/1.1 600 Odd\r\ncontent-length: 0\r\n\r\n'],
  ['a status below 100', 'HTTP/1.1 099 Odd\r\ncontent-length: 0\r\n\r\n'],
  ...['content-type', 'date', 'etag', 'location', 'retry-after'].map((name): [string, string] => [
    `two headers ${name}`,
    `${ok}${name}: a\r\n${name}: a\r\ncontent-length: 0\r\n\r\n`,
  ]),
  ['an empty line first', `\r\n${ok}content-length: 0\r\n\r\n`],
  ['lines that end with a line feed alone', 'HTTP/1.1 200 OK\ncontent-length: 0\n\r\n\r\n'],
  ['a header hidden behind a line feed', `${ok}a: b\ncontent-length: 5\r\ncontent-length: 0\r\n\r\n`],
  ['a header hidden behind a carriage return', `${ok}a: b\rcontent-length: 5\r\ncontent-length: 0\r\n\r\n`],
  ['a folded header', `${ok}a: b\r\n c\r\ncontent-length: 0\r\n\r\n`],
  ['a header without a colon', `${ok}a\r\ncontent-length: 0\r\n\r\n`],
  ['a header without a name', `${ok}: b\r\ncontent-length: 0\r\n\r\n`],
  ['a blank before the colon', `${ok}content-length : 0\r\n\r\n`],
  ['a NUL in a value', `${ok}a: \0\r\ncontent-length: 0\r\n\r\n`],
  ['a control in a value', `${ok}a: \x1b[2J\r\ncontent-length: 0\r\n\r\n`],
  ['a control in a name', `${ok}a\x01: b\r\ncontent-length: 0\r\n\r\n`],
  ['too many headers', `${ok}${'a: b\r\n'.repeat(300)}content-length: 0\r\n\r\n`],
  ['too large a head', `${ok}a: ${'b'.repeat(70_000)}\r\ncontent-length: 0\r\n\r\n`],
  ['a head without an end', `${ok}a: ${'b'.repeat(70_000)}`],
  ['a length and chunks', `${ok}content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`],
  ['two lengths', `${ok}content-length: 0\r\ncontent-length: 1\r\n\r\n1`],
  ['the same length twice', `${ok}content-length: 1\r\ncontent-length: 1\r\n\r\n1`],
  ['a list of lengths', `${ok}content-length: 1, 1\r\n\r\n1`],
  ['a length below zero', `${ok}content-length: -1\r\n\r\n`],
  ['a length with a sign', `${ok}content-length: +1\r\n\r\n1`],
  ['a length in hexadecimal', `${ok}content-length: 0x1\r\n\r\n1`],
  ['an empty length', `${ok}content-length:\r\n\r\n`],
  ['a length that is too large', `${ok}content-length: 99999999999999999999\r\n\r\n`],
  ['an unknown coding', `${ok}transfer-encoding: gzip\r\n\r\n`],
  ['a coding before chunked', `${ok}transfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n`],
  ['chunked twice', `${ok}transfer-encoding: chunked, chunked\r\n\r\n0\r\n\r\n`],
  [
    'two headers of codings',
    `${ok}transfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`,
  ],
  ['chunked in quotes', `${ok}transfer-encoding: "chunked"\r\n\r\n0\r\n\r\n`],
  ['chunked behind a vertical tab', `${ok}transfer-encoding: \x0bchunked\r\n\r\n0\r\n\r\n`],
  ['chunks in HTTP/1.0', 'HTTP/1.0 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n'],
  // All other errors of chunks are in codec/chunked-bodies.
  ['a chunk without a size', `${chunked}\r\n0\r\n\r\n`],
  ['a chunk that is longer than its size', `${chunked}1\r\nab\r\n0\r\n\r\n`],
  ['an invalid trailer', `${chunked}0\r\nHTTP/1.1 200 OK\r\n\r\n`],
  ['bytes behind its length', `${ok}content-length: 1\r\n\r\n12`],
  ['bytes behind its last chunk', `${chunked}1\r\na\r\n0\r\n\r\nX`],
  ['a second response', `${ok}content-length: 0\r\n\r\n`.repeat(2)],
  ['a body after 204', 'HTTP/1.1 204 No Content\r\n\r\nbody'],
  ['another protocol', 'HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\n\r\n'],
  ['too many interim responses', `${hints.repeat(9)}${ok}content-length: 0\r\n\r\n`],
  ['a head above 64 KiB', `${headOf(65_537)}\r\n\r\na`],
])('rejects a response with %s and closes its connection', async (_what, bytes) => {
  const upstream = await scripted(writesBytes(bytes))
  await expect(upstream.get()).rejects.toMatchObject({ code: 'BAD_RESPONSE' })
  expect(upstream.client.connectionCount()).toBe(0)
})

it.each<[name: string, bytes: string, reason: string]>([
  ['an empty line', '\r', 'not of HTTP/1.1'],
  ['the text of a page', '<html>', 'not of HTTP/1.1'],
  ['a TLS alert', '\x15\x03\x03\0\x02\x02\x28', 'not of HTTP/1.1'],
  ['a version of HTTP/2', 'HTTP/2', 'not of HTTP/1.1'],
  ['a status line that ends with a line feed', 'HTTP/1.1 200 OK\n', 'invalid characters'],
  ['a head with line feeds', 'HTTP/1.1 200 OK\ncontent-length: 2\n\n{}', 'invalid characters'],
  ['an empty line that is a line feed', `${ok}content-length: 2\r\n\n{}`, 'invalid characters'],
  ['a carriage return in a line', `${ok}a: b\rc`, 'invalid characters'],
  ['lines that end with a carriage return', 'HTTP/1.1 200 OK\rcontent-length: 2', 'invalid characters'],
  ['a NUL', `${ok}a: \0`, 'invalid characters'],
])('rejects a response that begins with %s before its head ends', async (_what, bytes, reason) => {
  for (const script of [writesBytes(bytes), writesByteByByte(bytes)]) {
    const upstream = await scripted(script)
    const rejection = expect(upstream.get()).rejects
    await rejection.toMatchObject({ code: 'BAD_RESPONSE', message: expect.stringContaining(reason) })
  }
})

function writesByteByByte(bytes: string): Script {
  return async (socket) => {
    socket.setNoDelay(true)
    for (const byte of bytes) {
      if (socket.destroyed) return
      socket.write(byte, 'latin1')
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
}

it.each<[name: string, bytes: string]>([
  ['in its head', 'HTTP/1.1 200 OK\r\ncontent-le'],
  ['before its length', `${ok}content-length: 5\r\n\r\n1234`],
  ['in a chunk', `${chunked}5\r\n1234`],
  ['before its last chunk', `${chunked}1\r\na\r\n`],
  ['before the end of its trailers', `${chunked}1\r\na\r\n0\r\n`],
  ['after an interim response', 'HTTP/1.1 100 Continue\r\n\r\n'],
])('rejects a response truncated %s', async (_what, bytes) => {
  const upstream = await scripted((socket) => socket.end(bytes))
  await expect(upstream.get()).rejects.toMatchObject({ code: 'CONNECTION_CLOSED' })
})

it('accepts an error that ends with the connection, and no success', async () => {
  const failing = await scripted((socket) => socket.end('HTTP/1.1 500 Oops\r\n\r\na'))
  expect(String((await failing.get()).body)).toBe('a')
  const endless = await scripted((socket) => socket.end(`${ok}\r\na`))
  await expect(endless.get()).rejects.toMatchObject({ code: 'BAD_RESPONSE' })
})

it.each<[name: string, bytes: string, body: string]>([
  ['without a reason', 'HTTP/1.1 200\r\ncontent-length: 1\r\n\r\na', 'a'],
  ['with tabs around a value', `${ok}content-length:\t1\t\r\n\r\na`, 'a'],
  ['with an empty value', `${ok}a:\r\ncontent-length: 1\r\n\r\na`, 'a'],
  ['with bytes above ASCII in a value', `${ok}a: \xe9\r\ncontent-length: 1\r\n\r\na`, 'a'],
  ['with chunks', `${chunked}1\r\na\r\nA\r\n0123456789\r\n0\r\n\r\n`, 'a0123456789'],
  ['with extensions and trailers', `${chunked}1;a=b;c="d e"\r\na\r\n000;x\r\na: b\r\n\r\n`, 'a'],
  ['after interim responses', `${hints.repeat(8)}${ok}content-length: 1\r\n\r\na`, 'a'],
  ['with a head of 64 KiB', `${headOf(65_536)}\r\n\r\na`, 'a'],
  ['without content', 'HTTP/1.1 204 No Content\r\n\r\n', ''],
  ['of an unchanged resource', 'HTTP/1.1 304 Not Modified\r\ncontent-length: 5\r\n\r\n', ''],
])('accepts a response %s', async (_what, bytes, body) => {
  const upstream = await scripted(writesBytes(bytes))
  expect(String((await upstream.get()).body)).toBe(body)
  expect(String((await upstream.get()).body)).toBe(body)
  expect(upstream.sockets).toHaveLength(1)
})
