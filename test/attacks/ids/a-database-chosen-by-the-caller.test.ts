import { describe, expect, it } from 'vitest'
import { expectError } from '../../gateway/support/expect-error.ts'
import { withUpstream } from '../../gateway/support/open-gateway.ts'
import { openRawConnection } from '../../gateway/support/raw-connection.ts'
import {
  respondWith,
  getHeaderValues,
  type ReceivedRequest,
} from '../../gateway/support/recording-upstream.ts'
import { startGatewayAndUpstream, useSharedGateway } from '../../gateway/support/running-gateway.ts'

// A LanceDB server chooses the database by a header: a permission on `t` must not apply to the `t` of every database.
const describeTable = '/v1/table/t/describe'
const lancedbHeaders = ['x-lancedb-database', 'x-lancedb-database-prefix', 'x-lancedb-user-id']

function databaseOf(arrival: ReceivedRequest | undefined): Record<string, string[]> {
  const sent = arrival ?? { rawHeaders: [] }
  return Object.fromEntries(lancedbHeaders.map((name) => [name, getHeaderValues(sent, name)]))
}

const plain = useSharedGateway({ users: ['mallory'] })
const none = { 'x-lancedb-database': [], 'x-lancedb-database-prefix': [], 'x-lancedb-user-id': [] }

it('only the dialect of the client reaches the upstream, not its database', async () => {
  const { gateway, upstream } = plain
  const headers = { 'x-lancedb-database': 'any', 'x-lancedb-user-id': 'root' }
  for (const target of [describeTable, '/v1/table/t/drop']) {
    expect(await gateway.post(target, { headers })).toMatchObject({ status: 200 })
    const arrival = upstream.requests.pop()
    expect(arrival?.target).toBe(target)
    expect(databaseOf(arrival)).toEqual(none)
    expect(getHeaderValues(arrival ?? { rawHeaders: [] }, 'x-catalog-client-dialect')).toEqual(['lancedb'])
  }
  upstream.handler = respondWith(200, { tables: [] })
  expect(await gateway.get('/v1/namespace/$/table/list', { headers })).toMatchObject({ status: 200 })
  expect(databaseOf(upstream.requests.pop())).toEqual(none)
})

it('a dialect that the caller states, as a gateway does, only chooses the form of responses', async () => {
  const { gateway, upstream } = plain
  for (const [headers, sent, version] of [
    [{ 'x-lancedb-database': 'any' }, ['lancedb'], '0.3.0'],
    [{ 'x-catalog-client-dialect': 'lancedb' }, ['lancedb'], '0.3.0'],
    [{ 'x-catalog-client-dialect': 'catalog', 'x-lancedb-database': 'any' }, [], undefined],
  ] as const) {
    const response = await gateway.post('/v1/table/t/drop', { headers })
    expect(response).toMatchObject({ status: 200 })
    expect(response.headers['phalanx-version']).toBe(version)
    const arrival = upstream.requests.pop()
    expect(arrival?.target).toBe('/v1/table/t/drop')
    expect(databaseOf(arrival)).toEqual(none)
    expect(getHeaderValues(arrival ?? { rawHeaders: [] }, 'x-catalog-client-dialect')).toEqual(sent)
    const denied = await gateway.post('/v1/table/t/drop', { headers, as: 'mallory' })
    expectError(denied, { kind: 'PermissionDenied', says: '' })
  }
  expect(upstream.requests).toEqual([])
})

it.each([
  ['an unknown dialect', 'x-catalog-client-dialect: forged', 'expected lancedb or catalog'],
  [
    'two dialects',
    'x-catalog-client-dialect: lancedb\r\nx-catalog-client-dialect: catalog',
    'header \\"x-catalog-client-dialect\\" is repeated',
  ],
  [
    'a dialect that a proxy would remove',
    'x-catalog-client-dialect: lancedb\r\nconnection: x-catalog-client-dialect',
    'the connection header lists',
  ],
  ['a dialect with underscores', 'x_catalog_client_dialect: lancedb', 'is ambiguous with'],
])('refuses %s', async (_what, lines, says) => {
  const { gateway, upstream } = plain
  const client = openRawConnection(gateway.url)
  client.write(
    `POST ${describeTable} HTTP/1.1\r\nhost: g\r\nx-api-key: ${gateway.key('dev')}\r\n${lines}\r\ncontent-length: 2\r\n\r\n{}`,
  )
  expect(await client.waitFor(/"code":13/)).toContain(says)
  expect(upstream.requests).toEqual([])
})

it('sends a configured database with every request, and records it', async () => {
  const { gateway, upstream } = await startGatewayAndUpstream(
    withUpstream(() => ({ database: 'sales/eu/west' })),
  )
  const fixed = { ...none, 'x-lancedb-database': ['sales'], 'x-lancedb-database-prefix': ['eu/west'] }
  const named = { 'x-lancedb-database': 'sales', 'x-lancedb-database-prefix': 'eu/west' }
  for (const headers of [{}, named, { ...named, 'x-lancedb-user-id': 'root' }]) {
    expect(await gateway.post('/v1/table/t/drop', { headers })).toMatchObject({ status: 200 })
    const arrival = upstream.requests.pop() ?? { rawHeaders: [] }
    expect(databaseOf(arrival as ReceivedRequest)).toEqual(fixed)
    const dialect = Object.keys(headers).length === 0 ? 'catalog' : 'lancedb'
    expect(getHeaderValues(arrival, 'x-catalog-client-dialect')).toEqual([dialect])
  }
  upstream.handler = respondWith(200, { tables: [] })
  expect(await gateway.get('/v1/namespace/$/table/list')).toMatchObject({ status: 200 })
  expect(databaseOf(upstream.requests.pop())).toEqual(fixed)
  const intents = await gateway.recorded('intent')
  expect(intents.map(({ database }) => database)).toEqual(['sales/eu/west', 'sales/eu/west', 'sales/eu/west'])
})

describe.each([
  ['an upstream without a database', undefined, 'any', '"any"'],
  ['an upstream with a database', 'sales', 'sales', 'that of the upstream'],
])('in front of %s', (_what, database, rootDatabase, expected) => {
  const shared = useSharedGateway(withUpstream(() => ({ database })))

  it.each([
    ['another database', { 'x-lancedb-database': 'payroll' }],
    ['another case', { 'x-lancedb-database': rootDatabase.toUpperCase() }],
    ['a prefix', { 'x-lancedb-database': rootDatabase, 'x-lancedb-database-prefix': 'eu' }],
    ['an empty prefix', { 'x-lancedb-database': rootDatabase, 'x-lancedb-database-prefix': '' }],
    ['a prefix without a database', { 'x-lancedb-database-prefix': 'eu' }],
    ['an empty name', { 'x-lancedb-database': '' }],
  ])('refuses %s, and names the setting', async (_label, headers) => {
    const { gateway, upstream } = shared
    for (const target of [describeTable, '/v1/table/t/drop', '/v1/namespace/$/describe', '/v1/jobs/list']) {
      expectError(await gateway.post(target, { headers }), {
        kind: 'InvalidInput',
        says: `is not served; expected ${expected}, or the setting databases: namespaces`,
      })
    }
    expect(upstream.requests).toEqual([])
  })

  it('takes its database for the root, also for an id of a namespace of that name', async () => {
    const { gateway, upstream } = shared
    const headers = { 'x-lancedb-database': rootDatabase }
    for (const target of [describeTable, `/v1/table/${rootDatabase}%24t/describe`]) {
      expect(await gateway.post(target, { headers })).toMatchObject({ status: 200 })
      expect(upstream.requests.pop()?.target).toBe(target)
    }
  })
})
