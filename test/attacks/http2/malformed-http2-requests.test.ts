import { expect, it } from 'vitest'
import { withHttp2 } from '../../gateway/support/open-gateway.ts'
import { openRawHttp2 } from '../../gateway/support/raw-http2.ts'
import { useSharedGateway } from '../../gateway/support/running-gateway.ts'
import type { Field } from '../../support/hpack.ts'
import { writeHead } from '../../support/http2-frames.ts'

// What could not be a request of HTTP/1.1 would mean something else to a catalog that is reached over HTTP/1.1
// (RFC 9113, sections 8.2, 8.3 and 10.3).
const shared = useSharedGateway(withHttp2)
const insert = '/v1/table/orders/insert'
const usual: readonly Field[] = [
  [':method', 'POST'],
  [':scheme', 'http'],
  [':authority', 'g'],
  [':path', insert],
]
const without = (name: string): Field[] => usual.filter((field) => field[0] !== name)
const withValue = (name: string, value: string): Field[] => [...without(name), [name, value]]

it.each<[label: string, fields: readonly Field[], body?: string]>([
  ['a host that differs from its authority', [...usual, ['host', 'other']]],
  ['two hosts', [...usual, ['host', 'g'], ['host', 'g']]],
  ['neither authority nor host', without(':authority')],
  ['an authority with user information', withValue(':authority', 'user@g')],
  ['connection', [...usual, ['connection', 'x-api-key']]],
  ['keep-alive', [...usual, ['keep-alive', 'timeout=5']]],
  ['proxy-connection', [...usual, ['proxy-connection', 'close']]],
  ['transfer-encoding', [...usual, ['transfer-encoding', 'chunked']]],
  ['upgrade', [...usual, ['upgrade', 'websocket']]],
  ['te other than trailers', [...usual, ['te', 'gzip']]],
  ['a name in upper case', [...usual, ['X-A', '1']]],
  ['two paths', [...usual, [':path', '/v1/table']]],
  ['two methods', [...usual, [':method', 'GET']]],
  ['a pseudo-header behind a header', [['x-a', '1'], ...usual]],
  ['an unknown pseudo-header', [...usual, [':other', '1']]],
  ['a pseudo-header of responses', [...usual, [':status', '200']]],
  ['no method', without(':method')],
  ['no path', without(':path')],
  ['no scheme', without(':scheme')],
  ['an empty path', withValue(':path', '')],
  ['a path without a slash', withValue(':path', 'v1/table')],
  ['a URL as its path', withValue(':path', `http://g${insert}`)],
  ['a path with a blank', withValue(':path', `${insert} HTTP/1.1`)],
  ['a path with a line break', withValue(':path', `${insert}\r\nx-a: 1`)],
  ['a path beyond ASCII', withValue(':path', '/v1/table/\xe9/insert')],
  ['a fragment', withValue(':path', `${insert}#x`)],
  ['an asterisk as its path', withValue(':path', '*')],
  ['another scheme', withValue(':scheme', 'ftp')],
  ['an unknown method', withValue(':method', 'FOO')],
  ['a method with a blank', withValue(':method', 'PO ST')],
  [
    'CONNECT',
    [
      [':method', 'CONNECT'],
      [':authority', 'g:1'],
    ],
  ],
  ['an extended CONNECT', [...withValue(':method', 'CONNECT'), [':protocol', 'websocket']]],
  ['two lengths', [...usual, ['content-length', '2'], ['content-length', '2']], '{}'],
  ['a length that is no number', [...usual, ['content-length', '+2']], '{}'],
  ['a length without a body', [...usual, ['content-length', '2']]],
  ['less than its length', [...usual, ['content-length', '3']], '{}'],
  ['more than its length', [...usual, ['content-length', '1']], '{}'],
  ['two keys', [...usual, ['x-api-key', 'other']]],
])('a request with %s is refused', async (_label, fields, body) => {
  const { gateway, upstream } = shared
  const connection = await openRawHttp2(gateway.url)
  const key: Field = ['x-api-key', gateway.key('dev')]
  await connection.write(writeHead(1, [...fields, key], body === undefined))
  if (body !== undefined) await connection.data(1, body, true)
  const end = await connection.waitForEnd(1)
  if (end === 'complete') {
    expect(connection.status(1)).toBeGreaterThanOrEqual(400)
    expect(connection.status(1)).toBeLessThan(500)
    expect(JSON.parse(connection.body(1))).toMatchObject({
      error: expect.any(String),
      code: expect.any(Number),
    })
  }
  expect(await gateway.post('/v1/table/well/exists')).toMatchObject({ status: 200 })
  expect(upstream.requests).toMatchObject([{ target: '/v1/table/well/exists' }])
})

const blankHeaders: Field[] = [
  ['x-a', ' 1'],
  ['x-a', '1 '],
  ['x-a', '\t1'],
  ['x-a', '1\t'],
]

// Node 20 drops the field, as does every version in the next test.
it.skipIf(process.versions.node.startsWith('20.')).each(blankHeaders)(
  'a request with the field %j: %j is refused',
  async (...field) => {
    const { gateway, upstream } = shared
    const connection = await openRawHttp2(gateway.url)
    const key: Field = ['x-api-key', gateway.key('dev')]
    await connection.write(writeHead(1, [...usual, key, field], true))
    expect(await connection.waitForStatus(1)).toBe(400)
    expect(upstream.requests).toEqual([])
  },
)

// node:http2 drops them (nghttp2's on_invalid_header_callback ignores them), so that the gateway cannot refuse them.
it.each<Field>([
  ['x-a', '1\r\nx-b: 2'],
  ['x-a', '1\n'],
  ['x-a', '\0'],
  ['x-a', 'a\x01b'],
  ['x-a', 'a\x7fb'],
  ['x a', '1'],
  ['x-a:', '1'],
  ['x:a', '1'],
  [' x-a', '1'],
  ['', '1'],
  ['x-api-key ', 'other'],
  ['x-api-key:', 'other'],
])('the field %j: %j is dropped before anything reads it', async (...field) => {
  const { gateway, upstream } = shared
  const connection = await openRawHttp2(gateway.url)
  const key: Field = ['x-api-key', gateway.key('dev')]
  await connection.write(writeHead(1, [...usual, key], true))
  await connection.write(writeHead(3, [...usual, key, field], true))
  for (const streamId of [1, 3]) expect(await connection.waitForStatus(streamId)).toBe(200)
  const [names, namesWithField] = upstream.requests.map(({ rawHeaders }) =>
    rawHeaders.filter((_, index) => index % 2 === 0),
  )
  expect(namesWithField).toEqual(names)
})

it.each([
  ['many headers', Array.from({ length: 200 }, (_, index): Field => [`x-${index}`, '1'])],
  ['a large header', [['x-a', 'b'.repeat(60_000)] as Field]],
  ['large headers', Array.from({ length: 60 }, (_, index): Field => [`x-${index}`, 'b'.repeat(1_000)])],
])('a head with %s is refused', async (_label, more) => {
  const { gateway, upstream } = shared
  const connection = await openRawHttp2(gateway.url)
  await connection.write(writeHead(1, [...usual, ['x-api-key', gateway.key('dev')], ...more], true))
  const end = await connection.waitForEnd(1)
  if (end === 'complete') expect(connection.status(1)).toBe(431)
  expect(await gateway.post('/v1/table/well/exists')).toMatchObject({ status: 200 })
  expect(upstream.requests).toHaveLength(1)
})
