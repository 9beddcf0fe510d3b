import { buffer } from 'node:stream/consumers'
import { brotliCompressSync, gunzipSync, gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { policyOf, ruleFor } from '../../attacks/support/policy-templates.ts'
import { ofKind, recordsOf } from '../../audit/audit-fixtures.ts'
import { arrowUpload } from '../../support/arrow-upload.ts'
import { expectError, expectUnknownOutcome, type ExpectedError } from '../support/expect-error.ts'
import { allowEverything } from '../support/open-gateway.ts'
import { getHeaderValues, respondWith, type RequestHandler } from '../support/recording-upstream.ts'
import { useSharedGateway } from '../support/running-gateway.ts'

/** `reader` gets no storage credentials, so the gateway reads the responses to it. */
const shared = useSharedGateway({
  users: ['reader'],
  policies: [allowEverything, policyOf([], [ruleFor(['reader'], ['read'])])],
})

const table = { location: 's3://lake/orders', storage_options: { secret: 'x' } }
const listing = '/v1/namespace/$/list'
const description = '/v1/table/orders/describe'

function sent(body: string | Buffer, coding?: string): RequestHandler {
  return respondWith(200, body, {
    'content-type': 'application/json',
    ...(coding !== undefined && { 'content-encoding': coding }),
  })
}

it('requests no content coding, whatever the client accepts', async () => {
  const { gateway, upstream } = shared
  await gateway.post(description, { headers: { 'accept-encoding': 'gzip, br' } })
  await gateway.get(listing)
  expect(upstream.requests.map((request) => getHeaderValues(request, 'accept-encoding'))).toEqual([
    ['identity'],
    ['identity'],
  ])
})

function refusedCoding(coding: string): ExpectedError {
  return { kind: 'ServiceUnavailable', status: 502, says: `content-encoding "${coding}"` }
}

describe('a compressed response', () => {
  it('that must be read is decoded', async () => {
    const { gateway, upstream } = shared
    upstream.answering = sent(gzipSync('{"namespaces":["a"]}'), 'gzip')
    expect((await gateway.get(listing)).json).toEqual({ namespaces: ['a'] })
    upstream.answering = sent(brotliCompressSync(JSON.stringify(table)), 'br')
    const response = await gateway.post(description, { as: 'reader' })
    expect(response.json).toEqual({ location: table.location })
    expect(response.headers).not.toHaveProperty('content-encoding')
  })

  it('that must be read, but cannot be decoded, is refused with its content coding', async () => {
    const { gateway, upstream } = shared
    for (const [body, coding] of [
      [gzipSync(`{"namespaces":["${'a'.repeat(2_000_000)}"]}`), 'gzip'],
      ['{"namespaces":["a"]}', 'snappy'],
      [JSON.stringify(table), 'gzip'],
    ] as const) {
      upstream.answering = sent(body, coding)
      expectError(await gateway.get(listing), refusedCoding(coding))
      expectError(await gateway.post(description, { as: 'reader' }), refusedCoding(coding))
    }
  })

  it('that need not be read is forwarded', async () => {
    const { gateway, upstream } = shared
    upstream.answering = sent(gzipSync(JSON.stringify(table)), 'gzip')
    const { statusCode, headers, body } = await gateway.open('POST', description)
    expect([statusCode, headers['content-encoding']]).toEqual([200, 'gzip'])
    expect(String(gunzipSync(await buffer(body)))).toBe(JSON.stringify(table))
  })

  it('to a change has its outcome', async () => {
    const { gateway, upstream } = shared
    upstream.answering = sent(gzipSync('{"version":7}'), 'gzip')
    const response = await gateway.post('/v1/table/orders/insert', {
      headers: { 'content-type': 'application/vnd.apache.arrow.stream' },
      body: arrowUpload,
    })
    expect(response).toMatchObject({ status: 200, json: { version: 7 } })
    const outcomes = ofKind(await recordsOf(gateway.auditFolder), 'outcome')
    expect(outcomes.at(-1)).toMatchObject({ result: 'committed', version: 7 })
  })
})

it('reads a response behind a byte order mark', async () => {
  const { gateway, upstream } = shared
  upstream.answering = sent('\ufeff{"namespaces":["a"]}')
  expect((await gateway.get(listing)).json).toEqual({ namespaces: ['a'] })
  upstream.answering = sent(`\ufeff${JSON.stringify(table)}`)
  const response = await gateway.post(description, { as: 'reader' })
  expect(response.json).toEqual({ location: table.location })
})

it('names what is wrong with a malformed response while its connection is open', async () => {
  const { gateway, upstream } = shared
  const says = 'does not end with CRLF'
  upstream.answering = (_arrival, response) =>
    response.socket?.write('HTTP/1.1 200 OK\ncontent-length: 2\n\n{}')
  expectError(await gateway.get(listing), { kind: 'ServiceUnavailable', status: 502, says })
  expectUnknownOutcome(await gateway.post('/v1/table/orders/drop'), says)
})
