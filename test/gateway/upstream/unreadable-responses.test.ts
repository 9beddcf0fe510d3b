import { buffer } from 'node:stream/consumers'
import { gunzipSync, gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { policyOf, ruleFor } from '../../attacks/support/policy-templates.ts'
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

describe('a compressed response', () => {
  it('that must be read is refused with its content coding', async () => {
    const { gateway, upstream } = shared
    const refused: ExpectedError = {
      kind: 'ServiceUnavailable',
      status: 502,
      says: 'content-encoding "gzip"',
    }
    upstream.handler = sent(gzipSync(JSON.stringify(table)), 'gzip')
    expectError(await gateway.get(listing), refused)
    expectError(await gateway.post(description, { as: 'reader' }), refused)
  })

  it('that need not be read is forwarded', async () => {
    const { gateway, upstream } = shared
    upstream.handler = sent(gzipSync(JSON.stringify(table)), 'gzip')
    const { statusCode, headers, body } = await gateway.open('POST', description)
    expect([statusCode, headers['content-encoding']]).toEqual([200, 'gzip'])
    expect(String(gunzipSync(await buffer(body)))).toBe(JSON.stringify(table))
  })

  it('to a change that must be read leaves its outcome unknown', async () => {
    const { gateway, upstream } = shared
    upstream.handler = sent(gzipSync('{"version":7}'), 'gzip')
    const headers = { 'content-type': 'application/vnd.apache.arrow.stream' }
    const response = await gateway.post('/v1/table/orders/insert', { headers, body: arrowUpload })
    expectUnknownOutcome(response, 'content-encoding "gzip"')
  })
})

it('reads a response behind a byte order mark', async () => {
  const { gateway, upstream } = shared
  upstream.handler = sent('\ufeff{"namespaces":["a"]}')
  expect((await gateway.get(listing)).json).toEqual({ namespaces: ['a'] })
  upstream.handler = sent(`\ufeff${JSON.stringify(table)}`)
  const response = await gateway.post(description, { as: 'reader' })
  expect(response.json).toEqual({ location: table.location })
})

it('names what is wrong with a malformed response while its connection is open', async () => {
  const { gateway, upstream } = shared
  const says = 'invalid characters or line ends'
  upstream.handler = (_arrival, response) =>
    response.socket?.write('HTTP/1.1 200 OK\ncontent-length: 2\n\n{}')
  expectError(await gateway.get(listing), { kind: 'ServiceUnavailable', status: 502, says })
  expectUnknownOutcome(await gateway.post('/v1/table/orders/drop'), says)
})
