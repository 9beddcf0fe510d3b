import { expect, it } from 'vitest'
import { ofKind, recordsOf } from '../audit/audit-fixtures.ts'
import { expectError } from '../gateway/support/expect-error.ts'
import { withUpstream } from '../gateway/support/open-gateway.ts'
import { respondWith, getHeaderValues, type ReceivedRequest } from '../gateway/support/recording-upstream.ts'
import { startGatewayAndUpstream } from '../gateway/support/running-gateway.ts'

// A LanceDB server chooses the database by a header: a permission on `t` must not apply to the `t` of every database.
const describeTable = '/v1/table/t/describe'
const lancedbHeaders = ['x-lancedb-database', 'x-lancedb-database-prefix', 'x-lancedb-user-id']

function databaseOf(arrival: ReceivedRequest | undefined): Record<string, string[]> {
  const sent = arrival ?? { rawHeaders: [] }
  return Object.fromEntries(lancedbHeaders.map((name) => [name, getHeaderValues(sent, name)]))
}

const none = { 'x-lancedb-database': [], 'x-lancedb-database-prefix': [], 'x-lancedb-user-id': [] }

it('by default only the dialect of the client reaches the upstream, not its database', async () => {
  const { gateway, upstream } = await startGatewayAndUpstream()
  const headers = {
    'x-lancedb-database': 'payroll',
    'x-lancedb-database-prefix': 'a/b',
    'x-lancedb-user-id': 'root',
    'x-catalog-client-dialect': 'forged',
  }
  for (const target of [describeTable, '/v1/table/t/drop']) {
    expect(await gateway.post(target, { headers })).toMatchObject({ status: 200 })
    const arrival = upstream.requests.pop()
    expect(databaseOf(arrival)).toEqual(none)
    expect(getHeaderValues(arrival ?? { rawHeaders: [] }, 'x-catalog-client-dialect')).toEqual(['lancedb'])
  }
  upstream.answering = respondWith(200, { tables: [] })
  expect(await gateway.get('/v1/namespace/$/table/list', { headers })).toMatchObject({ status: 200 })
  expect(databaseOf(upstream.requests.pop())).toEqual(none)
  expect(
    await gateway.post(describeTable, { headers: { 'x-catalog-client-dialect': 'lancedb' } }),
  ).toBeDefined()
  expect(getHeaderValues(upstream.requests.pop() ?? { rawHeaders: [] }, 'x-catalog-client-dialect')).toEqual(
    [],
  )
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
  upstream.answering = respondWith(200, { tables: [] })
  expect(await gateway.get('/v1/namespace/$/table/list')).toMatchObject({ status: 200 })
  expect(databaseOf(upstream.requests.pop())).toEqual(fixed)
  const intents = ofKind(await recordsOf(gateway.auditFolder), 'intent')
  expect(intents.map(({ database }) => database)).toEqual(['sales/eu/west', 'sales/eu/west', 'sales/eu/west'])
})

it.each([
  ['another database', { 'x-lancedb-database': 'payroll' }],
  ['another case', { 'x-lancedb-database': 'Sales' }],
  ['another prefix', { 'x-lancedb-database': 'sales', 'x-lancedb-database-prefix': 'eu' }],
  ['an empty name', { 'x-lancedb-database': '' }],
])('rejects a caller that names %s than the configured one', async (_label, headers) => {
  const { gateway, upstream } = await startGatewayAndUpstream(withUpstream(() => ({ database: 'sales' })))
  for (const target of [describeTable, '/v1/table/t/drop', '/v1/namespace/$/describe']) {
    expectError(await gateway.post(target, { headers }), {
      kind: 'InvalidInput',
      says: 'is not the database that is served here',
    })
  }
  expect(upstream.requests).toEqual([])
})

it('rejects the database header with underscores', async () => {
  const { gateway, upstream } = await startGatewayAndUpstream()
  const response = await fetch(`${gateway.url}${describeTable}`, {
    method: 'POST',
    headers: { 'x-api-key': gateway.key('dev'), x_lancedb_database: 'payroll' },
  })
  expect(response.status).toBe(400)
  expect(upstream.requests).toEqual([])
})
