import { expect, it } from 'vitest'
import { expectError, type ExpectedError } from '../../gateway/support/expect-error.ts'
import { chunkOf, rawUpload, sendRaw } from '../../gateway/support/raw-request.ts'
import { attackedGateway } from '../support/attacked-gateway.ts'
import { arrowBytes } from '../../support/arrow-upload.ts'
import { eventually } from '../../support/eventually.ts'

// Two readers that find different ends of a request see different next requests. Every form of head and chunk is in
// http1/server/request-heads.test.ts, http1/codec/chunked-bodies.test.ts and http1/server/both-parsers.test.ts.
const attacked = attackedGateway()
const malformed: ExpectedError = { kind: 'InvalidInput', says: 'malformed HTTP request' }
const encoding: ExpectedError = { kind: 'InvalidInput', says: /transfer-encoding|malformed HTTP/ }
const smuggled = 'POST /v1/table/production/drop HTTP/1.1\r\nhost: g\r\ncontent-length: 0\r\n\r\n'
const chunked = `0\r\n\r\n${smuggled}`

it.each<[label: string, lines: string[], body: string, ExpectedError]>([
  ['length and chunks', ['content-length: 5', 'transfer-encoding: chunked'], chunked, malformed],
  ['two lengths', ['content-length: 0', 'content-length: 5'], smuggled, malformed],
  ['a bare line feed', ['x-a: 1\ncontent-length: 5'], smuggled, malformed],
  ['two encodings', ['transfer-encoding: gzip, chunked'], chunked, encoding],
])(
  '%s is rejected, and the following bytes are not parsed as a request',
  async (_label, lines, body, expected) => {
    await attacked.expectRefused({ lines, body }, expected)
  },
)

it.each([
  ['a size that is no number', 'zz\r\n{}\r\n0\r\n\r\n'],
  ['a length in its trailers', '2\r\n{}\r\n0\r\ncontent-length: 9\r\n\r\n'],
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
    { kind: 'InvalidInput', says: 'unsupported transfer-encoding "chunked" in HTTP/1.0' },
  ],
  [
    'HTTP/2.0 in the syntax of HTTP/1.1',
    'GET /v1/table HTTP/2.0\r\nhost: g\r\n\r\n',
    { kind: 'InvalidInput', status: 505, says: 'expected HTTP/1.1' },
  ],
  ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', malformed],
])('%s is rejected, and its connection closed', async (_label, bytes, expected) => {
  const responses = await sendRaw(attacked.gateway.url, bytes)
  expect(responses).toHaveLength(1)
  expectError(responses[0], expected)
  expect(attacked.upstream.requests).toEqual([])
})

it('aborts a malformed upload upstream, never completing it', async () => {
  const { gateway, upstream } = attacked
  upstream.handler = () => undefined
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
])('%s end at this gateway: the forwarded request is framed again', async (_what, lines, body) => {
  const arrival = await attacked.expectForwarded({ lines, body })
  expect(String(await arrival.body)).toBe('{}')
  const names = arrival.rawHeaders.filter((_, index) => index % 2 === 0)
  const framing = names.filter((name) =>
    /^(content-length|expect|te|trailer|transfer-encoding|x-api-key)$/.test(name),
  )
  expect(framing).toEqual(['content-length'])
})
