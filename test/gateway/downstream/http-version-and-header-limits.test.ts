import { expect, it } from 'vitest'
import { expectError } from '../support/expect-error.ts'
import { sendRaw, rawRequest } from '../support/raw-request.ts'
import { getHeaderValues } from '../support/recording-upstream.ts'
import { useSharedGateway } from '../support/running-gateway.ts'
import { arrowUpload } from '../../support/arrow-upload.ts'

const shared = useSharedGateway()
const describe = '/v1/table/orders/describe'

it('accepts 128 headers and rejects 129', async () => {
  const { gateway, upstream } = shared
  const withHeaders = (count: number): Promise<unknown[]> => {
    const lines = ['host: g', `x-api-key: ${gateway.key('dev')}`, 'content-length: 0', 'connection: close']
    while (lines.length < count) lines.push(`x-${lines.length}: 1`)
    return sendRaw(gateway.url, rawRequest([`POST ${describe} HTTP/1.1`, ...lines]))
  }
  expect(await withHeaders(128)).toMatchObject([{ status: 200 }])
  expect(upstream.requests).toHaveLength(1)
  expect(await withHeaders(129)).toMatchObject([{ status: 431 }])
  expect(upstream.requests).toHaveLength(1)
})

it('HTTP/1.0 requires no host, and closes the connection without keep-alive', async () => {
  const { gateway, upstream } = shared
  const lines = [`x-api-key: ${gateway.key('dev')}`, 'connection: x', 'x: 1', 'content-length: 0']
  const request = rawRequest([`POST ${describe} HTTP/1.0`, ...lines])
  const responses = await sendRaw(gateway.url, request + request)
  expect(responses).toMatchObject([{ status: 200, headers: { connection: 'close' } }])
  expect(upstream.requests).toHaveLength(1)
  const [arrival = { rawHeaders: [] }] = upstream.requests
  expect(getHeaderValues(arrival, 'x')).toEqual([])
  expect(getHeaderValues(arrival, 'connection')).toEqual(['keep-alive'])
  expect(getHeaderValues(arrival, 'host')).toEqual([new URL(upstream.url).host])
})

it('CONNECT is 405, and nothing behind it is read as a request', async () => {
  const { gateway, upstream } = shared
  const lines = [`x-api-key: ${gateway.key('dev')}`, 'host: g', 'content-length: 0']
  const tunneled = rawRequest([`POST ${describe} HTTP/1.1`, ...lines])
  const responses = await sendRaw(gateway.url, rawRequest(['CONNECT g:443 HTTP/1.1', ...lines]) + tunneled)
  expect(responses).toMatchObject([{ status: 405, headers: { connection: 'close' } }])
  expect(upstream.requests).toEqual([])
})

it.each([
  ['JSON', describe, 'application/json', Buffer.from('{}')],
  ['Arrow', '/v1/table/orders/insert', 'application/vnd.apache.arrow.stream', arrowUpload],
])('accepts and removes the content-encoding identity: %s', async (_what, target, type, body) => {
  const { gateway, upstream } = shared
  const headers = { 'content-type': type, 'content-encoding': 'identity' }
  expect(await gateway.post(target, { headers, body })).toMatchObject({ status: 200 })
  const [arrival] = upstream.requests
  expect(await arrival?.body).toEqual(body)
  expect(getHeaderValues(arrival ?? { rawHeaders: [] }, 'content-encoding')).toEqual([])
  const gzip = { ...headers, 'content-encoding': 'gzip' }
  const refused = await gateway.post(target, { headers: gzip, body })
  expectError(refused, { kind: 'InvalidInput', says: 'content-encoding' })
  expect(upstream.requests).toHaveLength(1)
})
