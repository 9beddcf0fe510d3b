import { expect, it } from 'vitest'
import { expectError, type ExpectedError } from '../../gateway/support/expect-error.ts'
import { chunkOf, rawUpload, sendRaw } from '../../gateway/support/raw-request.ts'
import { attackedGateway } from '../support/attacked-gateway.ts'
import { arrowBytes } from '../../support/arrow-upload.ts'
import { eventually } from '../../support/eventually.ts'

// Two readers that find different ends of a request see different next requests.
const attacked = attackedGateway()
const malformed: ExpectedError = { kind: 'InvalidInput', says: 'malformed HTTP request' }
const encoding: ExpectedError = { kind: 'InvalidInput', says: /transfer-encoding|malformed HTTP/ }
const smuggled = 'POST /v1/table/production/drop HTTP/1.1\r\nhost: g\r\ncontent-length: 0\r\n\r\n'
const chunked = `0\r\n\r\n${smuggled}`

it.each<[label: string, lines: string[], body: string, ExpectedError]>([
  ['length and chunks', ['content-length: 5', 'transfer-encoding: chunked'], chunked, malformed],
  ['chunks and length', ['transfer-encoding: chunked', 'content-length: 5'], chunked, malformed],
  ['two lengths', ['content-length: 0', 'content-length: 5'], smuggled, malformed],
  ['the same length twice', ['content-length: 5', 'content-length: 5'], smuggled, malformed],
  ['two lengths in one', ['content-length: 0, 5'], smuggled, malformed],
  ['a negative length', ['content-length: -1'], smuggled, malformed],
  ['a signed length', ['content-length: +5'], smuggled, malformed],
  ['a hexadecimal length', ['content-length: 0x5'], smuggled, malformed],
  ['a length with a blank in it', ['content-length: 1 0'], smuggled, malformed],
  ['an endless length', ['content-length: 99999999999999999999999'], smuggled, malformed],
  ['an empty length', ['content-length:'], smuggled, malformed],
  ['a name with a blank', ['content-length : 5'], smuggled, malformed],
  ['a name with a tabulator', ['transfer-encoding\t: chunked'], chunked, malformed],
  ['a folded header', ['x-a: 1', ' content-length: 5'], smuggled, malformed],
  ['a folded encoding', ['transfer-encoding:', ' chunked'], chunked, encoding],
  ['a header without a colon', ['content-length'], smuggled, malformed],
  ['a header without a name', [': 5'], smuggled, malformed],
  ['NUL in a header', ['x-a: \0'], smuggled, malformed],
  ['a bare line feed', ['x-a: 1\ncontent-length: 5'], smuggled, malformed],
  ['a bare carriage return', ['x-a: 1\rcontent-length: 5'], smuggled, malformed],
  ['two encodings', ['transfer-encoding: gzip, chunked'], chunked, encoding],
  ['encodings in two headers', ['transfer-encoding: gzip', 'transfer-encoding: chunked'], chunked, encoding],
  ['chunked twice', ['transfer-encoding: chunked, chunked'], chunked, encoding],
  ['chunks that are not last', ['transfer-encoding: chunked, gzip'], chunked, encoding],
  ['an encoding that is no name', ['transfer-encoding: xchunked'], chunked, encoding],
  ['a quoted encoding', ['transfer-encoding: "chunked"'], chunked, encoding],
  ['an encoding with a parameter', ['transfer-encoding: chunked;a=b'], chunked, encoding],
  ['the encoding identity', ['transfer-encoding: identity'], smuggled, encoding],
  ['an empty encoding', ['transfer-encoding:'], chunked, encoding],
  ['a vertical tabulator', ['transfer-encoding: \x0bchunked'], chunked, encoding],
])(
  '%s is rejected, and the following bytes are not parsed as a request',
  async (_label, lines, body, expected) => {
    await attacked.expectRefused({ lines, body }, expected)
  },
)

it.each<[label: string, lines: string[], body: string]>([
  ['before the encoding', ['transfer-encoding:\tchunked'], chunked],
  ['behind the encoding', ['transfer-encoding: chunked\t'], chunked],
  ['behind the length', ['content-length: 5\t'], smuggled],
])('a tabulator %s is rejected', async (_label, lines, body) => {
  await attacked.expectRefused({ lines, body }, malformed)
})

it.each([
  ['a size that is no number', 'zz\r\n{}\r\n0\r\n\r\n'],
  ['a size with a sign', '+2\r\n{}\r\n0\r\n\r\n'],
  ['a size with a prefix', '0x2\r\n{}\r\n0\r\n\r\n'],
  ['a size that overflows', 'fffffffffffffffff2\r\n{}\r\n0\r\n\r\n'],
  ['a chunk that is longer than it says', '1\r\n{}\r\n0\r\n\r\n'],
  ['a bare line feed behind a size', '2\n{}\r\n0\r\n\r\n'],
  ['a bare line feed behind a chunk', '2\r\n{}\n0\r\n\r\n'],
  ['a length in its trailers', '2\r\n{}\r\n0\r\ncontent-length: 9\r\n\r\n'],
  ['a line feed within an extension', '2;a\n{}\r\n0\r\n\r\n'],
])('rejects a chunked body with %s', async (_label, body) => {
  for (const target of ['/v1/table/sandbox$orders/describe', '/v1/table/sandbox$orders/query']) {
    const response = await attacked.send({ target, lines: ['transfer-encoding: chunked'], body })
    expect(response).toMatchObject({ status: 400, json: { code: 13 } })
  }
  expect(attacked.upstream.requests).toEqual([])
})

it.each<[label: string, bytes: string, ExpectedError]>([
  [
    'HTTP/1.0 with chunks',
    `POST /v1/table/sandbox$orders/describe HTTP/1.0\r\ntransfer-encoding: chunked\r\n\r\n${chunked}`,
    { kind: 'InvalidInput', says: 'unexpected transfer-encoding in an HTTP/1.0 request' },
  ],
  ['HTTP/0.9', 'GET /v1/table\r\n\r\n', malformed],
  [
    'HTTP/2.0 in the syntax of HTTP/1.1',
    'GET /v1/table HTTP/2.0\r\nhost: g\r\n\r\n',
    { kind: 'InvalidInput', status: 505, says: 'expected HTTP/1.1' },
  ],
  ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', malformed],
  [
    'CONNECT',
    `CONNECT inside.example:443 HTTP/1.1\r\nhost: g\r\n\r\n${smuggled}`,
    { kind: 'Unsupported', status: 405, says: 'CONNECT' },
  ],
])('%s is rejected, and its connection closed', async (_label, bytes, expected) => {
  const responses = await sendRaw(attacked.gateway.url, bytes)
  expect(responses).toHaveLength(1)
  expectError(responses[0], expected)
  expect(attacked.upstream.requests).toEqual([])
})

it('aborts a malformed upload upstream, never completing it', async () => {
  const { gateway, upstream } = attacked
  upstream.answering = () => undefined
  async function* parts(): AsyncGenerator<string | Buffer> {
    const key = `x-api-key: ${gateway.key('writer')}`
    const lines = ['POST /v1/table/sandbox$orders/insert HTTP/1.1', 'host: g', key]
    yield rawUpload([...lines, 'transfer-encoding: chunked'], chunkOf(arrowBytes(0x4000)))
    await eventually(() => expect(upstream.requests).toHaveLength(1))
    yield 'zz\r\n'
  }
  for (const { status } of await sendRaw(gateway.url, parts())) expect(status).toBe(400)
  await expect(upstream.requests[0]?.body).rejects.toThrow('aborted')
})

it.each([
  ['chunk extensions', ['transfer-encoding: chunked'], '2;name="value"\r\n{}\r\n0\r\n\r\n'],
  ['trailers', ['transfer-encoding: Chunked'], '2\r\n{}\r\n0\r\nx-api-key: k\r\n\r\n'],
  ['a length with zeros in front', ['content-length: 002'], '{}'],
  ['Expect', ['expect: 100-continue', 'content-length: 2'], '{}'],
])('%s end at this gateway: the forwarded request is framed again', async (what, lines, body) => {
  if (what === 'Expect') {
    const response = await attacked.send({ lines: lines.slice(1), body })
    expect(response?.status).toBe(200)
  } else {
    const arrival = await attacked.expectForwarded({ lines, body })
    expect(String(await arrival.body)).toBe('{}')
    const names = arrival.rawHeaders.filter((_, index) => index % 2 === 0)
    expect(names.toSorted()).toEqual([
      'accept-encoding',
      'connection',
      'content-length',
      'content-type',
      'host',
      'x-request-id',
    ])
  }
})
