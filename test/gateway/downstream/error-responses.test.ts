import { expect, it } from 'vitest'
import { expectError, type ExpectedError } from '../support/expect-error.ts'
import { sendRaw, rawRequest } from '../support/raw-request.ts'
import type { RequestOptions } from '../support/open-gateway.ts'
import { useSharedGateway } from '../support/running-gateway.ts'

const shared = useSharedGateway()
const describe = '/v1/table/orders/describe'
const notFound = { kind: 'Unsupported', status: 404 } as const
const noOperation = { kind: 'Unsupported', status: 406 } as const
const wrongMethod = { kind: 'Unsupported', status: 405 } as const

it.each<[what: string, method: 'GET' | 'POST', target: string, ExpectedError, RequestOptions?]>([
  ['no operation', 'GET', '/', { ...notFound, says: 'unknown route "/"; expected a path below "/v1"' }],
  [
    'an id with a slash',
    'POST',
    '/v1/table/prod/orders/describe',
    { ...noOperation, says: 'no such operation', detail: '"$" joins its names' },
  ],
  [
    'another method',
    'GET',
    describe,
    { ...wrongMethod, says: 'method "GET" is not allowed for DescribeTable; use POST' },
  ],
  [
    'no credential',
    'POST',
    describe,
    { kind: 'Unauthenticated', says: 'no credential was sent' },
    { as: null },
  ],
  [
    'a key as a token',
    'POST',
    describe,
    { kind: 'Unauthenticated', says: 'invalid bearer token', detail: 'sent in the header x-api-key' },
    { as: null, headers: { authorization: 'Bearer cgk_key' } },
  ],
  [
    'no credential and an unknown route',
    'POST',
    '/v1/nothing',
    { ...noOperation, says: 'unknown route' },
    { as: null },
  ],
  [
    'a body for GET',
    'GET',
    '/v1/table',
    { kind: 'InvalidInput', says: 'unexpected body in a GET request for ListAllTables' },
    { body: '{}' },
  ],
])('%s is rejected in the format of the interface', async (_what, method, target, expected, parts) => {
  expectError(await shared.gateway.send(method, target, parts), expected)
  expect(shared.upstream.requests).toEqual([])
  // The connection remains usable.
  expect(await shared.gateway.post(describe)).toMatchObject({ status: 200 })
})

it('a refusal names the alternatives in HTTP headers', async () => {
  const wrongMethod = await shared.gateway.get(describe)
  expect(wrongMethod.headers['allow']).toBe('POST')
  const tolerant = await shared.gateway.send('PUT', '/v1/table/orders/count_rows')
  expect(tolerant.headers['allow']).toBe('GET, POST')
  const nobody = await shared.gateway.post(describe, { as: null })
  expect(nobody.headers['www-authenticate']).toBe(
    'Bearer realm="catalog-gateway", ApiKey realm="catalog-gateway", header="x-api-key"',
  )
})

it('rejects HEAD without a body', async () => {
  const response = await shared.gateway.send('HEAD', '/v1/table')
  expect(response).toMatchObject({ status: 405, headers: { allow: 'GET' } })
  expect(response.bytes).toHaveLength(0)
  expect(shared.upstream.requests).toEqual([])
})

it.each<[what: string, request: string, ExpectedError]>([
  ['no HTTP', 'EHLO gateway\r\n\r\n', { kind: 'InvalidInput', says: 'malformed HTTP request' }],
  [
    'an unsupported expectation',
    rawRequest(['GET /v1/table HTTP/1.1', 'host: g', 'expect: 200-ok', 'connection: close']),
    { kind: 'InvalidInput', status: 417, says: /expect/i },
  ],
])(
  '%s gets a response in the format of the interface, and the connection is closed',
  async (_what, bytes, error) => {
    const found = await sendRaw(shared.gateway.url, bytes)
    expect(found).toHaveLength(1)
    expectError(found[0], error)
    expect(shared.upstream.requests).toEqual([])
  },
)
