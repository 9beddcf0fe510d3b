import { beforeEach, expect, it } from 'vitest'
import { expectError } from '../support/expect-error.ts'
import { getHeaderValues, respondWith, type RequestHandler } from '../support/recording-upstream.ts'
import { useSharedGateway } from '../support/running-gateway.ts'

// LanceDB's clients read a blob by its size, then by ranges of its bytes.
const blob = '/v1/table/lake%24t/blob/info.image/18446744073709551615/bytes'
const tag = '"v7"'
const shared = useSharedGateway()

const described = {
  'accept-ranges': 'bytes',
  etag: tag,
  'last-modified': 'Wed, 21 Oct 2026 07:28:00 GMT',
  'x-lancedb-version': '7',
}

/** Responds with these headers and those of every blob. */
function serveBlob(status: number, text: string, headers: Readonly<Record<string, string>> = {}) {
  const length = status === 304 ? {} : { 'content-length': String(text.length) }
  const sent = { 'content-type': 'application/octet-stream', ...described, ...length, ...headers }
  const handle: RequestHandler = ({ method }, response) =>
    response.writeHead(status, { ...sent, 'set-cookie': 'a=b' }).end(method === 'HEAD' ? undefined : text)
  return { handle, sent }
}

beforeEach(() => {
  shared.upstream.handler = serveBlob(200, '0123456789').handle
})

const byteRanges = '--x\r\ncontent-range: bytes 0-0/10\r\n\r\n0\r\n--x--\r\n'

it.each<
  [string, Record<string, string>, status: number, text: string, headers?: Readonly<Record<string, string>>]
>([
  ['the whole value', {}, 200, '0123456789'],
  ['a range', { range: 'bytes=2-4' }, 206, '234', { 'content-range': 'bytes 2-4/10' }],
  [
    'several ranges',
    { range: 'bytes=0-0,-1' },
    206,
    byteRanges,
    { 'content-type': 'multipart/byteranges; boundary=x' },
  ],
  [
    'a range of the value that it knows',
    { range: 'bytes=0-0', 'if-range': tag },
    206,
    '0',
    { 'content-range': 'bytes 0-0/10' },
  ],
  ['a range of a value that has changed', { range: 'bytes=0-0', 'if-range': '"v6"' }, 200, '0123456789'],
  ['a value that it has', { 'if-none-match': tag }, 304, ''],
])('a client gets %s', async (_what, headers, status, text, more) => {
  const { gateway, upstream } = shared
  const { handle, sent } = serveBlob(status, text, more)
  upstream.handler = handle
  const response = await gateway.get(blob, { headers })
  expect(response).toMatchObject({ status, headers: status === 304 ? described : sent })
  expect(String(response.bytes)).toBe(text)
  expect(response.headers['set-cookie']).toBe(undefined)
  expect(response.headers['content-encoding']).toBe(undefined)
  expect(upstream.requests).toMatchObject([{ method: 'GET', target: blob }])
  const [arrival = { rawHeaders: [] }] = upstream.requests
  for (const name of ['range', 'if-range', 'if-none-match'])
    expect(getHeaderValues(arrival, name)).toEqual(name in headers ? [headers[name]] : [])
  expect(getHeaderValues(arrival, 'accept-encoding')).toEqual(['identity'])
})

it('HEAD has the headers of the value and no body', async () => {
  const { gateway, upstream } = shared
  const response = await gateway.send('HEAD', blob)
  expect(response).toMatchObject({ status: 200, headers: { ...described, 'content-length': '10' } })
  expect(response.bytes).toHaveLength(0)
  expect(upstream.requests).toMatchObject([{ method: 'HEAD', target: blob }])
  // The connections of both sides serve further requests.
  expect(await gateway.get(blob)).toMatchObject({ status: 200, bytes: Buffer.from('0123456789') })
})

it('errors of HEAD have no body either', async () => {
  shared.upstream.handler = respondWith(404, '')
  const response = await shared.gateway.send('HEAD', blob)
  expect(response.status).toBe(404)
  expect(response.bytes).toHaveLength(0)
})

it('null is 204', async () => {
  shared.upstream.handler = (_arrival, response) =>
    response.writeHead(204, { 'x-lancedb-version': '7' }).end()
  const response = await shared.gateway.get(blob, { headers: { range: 'bytes=0-0' } })
  expect(response).toMatchObject({ status: 204, headers: { 'x-lancedb-version': '7' } })
  expect(response.bytes).toHaveLength(0)
})

it('416 says how long the value is, in an error of the interface', async () => {
  shared.upstream.handler = serveBlob(416, '', { 'content-range': 'bytes */10' }).handle
  const response = await shared.gateway.get(blob, { headers: { range: 'bytes=10-11' } })
  expectError(response, { kind: 'InvalidInput', status: 416, says: 'refused the request' })
  expect(response.headers['content-range']).toBe('bytes */10')
})

it('a part that was not requested is an invalid response: the client would take it for the value', async () => {
  shared.upstream.handler = respondWith(206, '0', { 'content-range': 'bytes 0-0/10' })
  expectError(await shared.gateway.get(blob), { kind: 'ServiceUnavailable', status: 502, says: 'is a part' })
})

it('304 without a condition is refused like a redirect', async () => {
  shared.upstream.handler = (_arrival, response) => response.writeHead(304, { etag: tag }).end()
  expectError(await shared.gateway.get(blob), { kind: 'ServiceUnavailable', status: 502, says: 'redirect' })
})

it('values of several rows are an Arrow stream', async () => {
  const { gateway, upstream } = shared
  const type = 'application/vnd.apache.arrow.stream'
  upstream.handler = respondWith(200, 'arrow', { 'content-type': type })
  const body = { version: null, column: 'image', row_ids: [0, 7], branch: 'ci/7' }
  const response = await gateway.post('/v1/table/lake$t/fetch_blobs/', { body })
  expect(response).toMatchObject({ status: 200, headers: { 'content-type': type } })
  expect(upstream.requests).toMatchObject([{ target: '/v1/table/lake%24t/fetch_blobs' }])
  const unknown = { ...body, source_uri: 's3://b/other' }
  expect((await gateway.post('/v1/table/lake$t/fetch_blobs', { body: unknown })).status).toBe(400)
})
