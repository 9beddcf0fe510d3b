import { describe, expect, it } from 'vitest'
import { expectError } from '../../gateway/support/expect-error.ts'
import { readExtraOperations } from '../../gateway/support/extra-operations.ts'
import { serveListings } from '../../gateway/support/listing-upstream.ts'
import { allowEverything, type GatewaySetup } from '../../gateway/support/open-gateway.ts'
import { rawRequest, sendRaw } from '../../gateway/support/raw-request.ts'
import { respondWith } from '../../gateway/support/recording-upstream.ts'
import { useSharedGateway } from '../../gateway/support/running-gateway.ts'
import { policyOf, ruleFor } from '../support/policy-templates.ts'

// Clients of LanceDB send ids that are relative to the database of a header. Two databases must never share a table, and
// policies, audit records and the upstream must mean the same one.

const extraOperations = readExtraOperations([
  {
    name: 'MirrorTable',
    path: '/v1/table/{id}/mirror',
    group: 'admin',
    idMembers: { target: 'CreateTable' },
  },
])
/** `ann` may do everything in the database x1, and nothing elsewhere. */
const setup: GatewaySetup = {
  users: ['ann'],
  policies: [allowEverything, policyOf(['x1'], [ruleFor(['ann'])])],
  adjust: (settings) => ({
    ...settings,
    databases: 'namespaces',
    upstreams: settings.upstreams.map((upstream) => ({ ...upstream, extraOperations })),
  }),
}
const shared = useSharedGateway(setup)
const x1 = { 'x-lancedb-database': 'x1' }
const x2 = { 'x-lancedb-database': 'x2' }

async function sentUpstream(): Promise<{ target: string | undefined; body: string }> {
  const arrival = shared.upstream.requests.pop()
  return { target: arrival?.target, body: String((await arrival?.body) ?? '') }
}

describe('the database is the first part of the id', () => {
  it.each([
    ['POST', '/v1/table/t/describe', '/v1/table/x1%24t/describe'],
    ['POST', '/v1/table/n$t/drop', '/v1/table/x1%24n%24t/drop'],
    ['POST', '/v1/table/n.t/drop?delimiter=.', '/v1/table/x1%24n%24t/drop'],
    ['POST', '/v1/namespace/n/create', '/v1/namespace/x1%24n/create'],
    ['POST', '/v1/namespace/$/describe', '/v1/namespace/x1/describe'],
    ['POST', '/v1/table/t/index/x2/drop', '/v1/table/x1%24t/index/x2/drop'],
    ['POST', '/v1/table/x2$t/describe', '/v1/table/x1%24x2%24t/describe'],
    // A database that is already part of the id is a namespace in the database.
    ['POST', '/v1/table/x1$t/describe', '/v1/table/x1%24x1%24t/describe'],
  ] as const)('upstream: %s %s', async (method, target, expected) => {
    const { gateway } = shared
    expect(await gateway.send(method, target, { as: 'ann', headers: x1 })).toMatchObject({ status: 200 })
    expect((await sentUpstream()).target).toBe(expected)
  })

  it('in decisions', async () => {
    const { gateway, upstream } = shared
    for (const headers of [x2, { 'x-lancedb-database': 'any' }, {}]) {
      expectError(await gateway.post('/v1/table/t/drop', { as: 'ann', headers }), {
        kind: 'PermissionDenied',
        says: 'you are not allowed',
      })
    }
    expectError(await gateway.post('/v1/table/t/drop', { as: 'ann', headers: x2 }), {
      kind: 'PermissionDenied',
      says: 'DropTable on "x2.t"',
    })
    expect(upstream.requests).toEqual([])
  })

  it('in decisions and targets that were cached for another database', async () => {
    const { gateway } = shared
    for (const [headers, id] of [
      [x1, 'x1%24cached'],
      [x2, 'x2%24cached'],
      [{}, 'cached'],
      [x1, 'x1%24cached'],
    ] as const) {
      await gateway.post('/v1/table/cached/describe', { headers })
      expect((await sentUpstream()).target).toBe(`/v1/table/${id}/describe`)
    }
  })

  it('in audit records', async () => {
    const { gateway } = shared
    const requestId = 'record-of-x1'
    await gateway.post('/v1/table/n$t/drop', { headers: { ...x1, 'x-request-id': requestId } })
    const intents = await gateway.recorded('intent')
    expect(intents.find(({ request }) => request === requestId)).toMatchObject({ id: ['x1', 'n', 't'] })
  })
})

describe('an id in the body', () => {
  it.each([
    ['/v1/table/t/describe', { id: ['t'] }, { id: ['x1', 't'] }],
    ['/v1/table/t/describe', { id: [] }, {}],
    ['/v1/namespace/$/describe', { id: [] }, {}],
    [
      '/v1/table/t/explain_plan',
      { id: ['t'], query: { id: ['t'], k: 1 } },
      { id: ['x1', 't'], query: { id: ['x1', 't'], k: 1 } },
    ],
    ['/v1/table/t/rename', { new_table_name: 'u' }, { new_table_name: 'u' }],
    [
      '/v1/table/t/rename',
      { new_table_name: 'u', new_namespace_id: ['n'] },
      { new_table_name: 'u', new_namespace_id: ['x1', 'n'], new_namespace: ['x1', 'n'] },
    ],
    [
      '/v1/table/n$t/rename',
      { new_table_name: 'u', new_namespace: [] },
      { new_table_name: 'u', new_namespace: ['x1'], new_namespace_id: ['x1'] },
    ],
    [
      '/v1/table/t/mirror',
      { id: ['t'], target: ['x2', 't'] },
      { id: ['x1', 't'], target: ['x1', 'x2', 't'] },
    ],
  ])('of %s is relative: %j', async (target, body, expected) => {
    const { gateway } = shared
    expect(await gateway.post(target, { as: 'ann', headers: x1, body })).toMatchObject({ status: 200 })
    expect(JSON.parse((await sentUpstream()).body)).toEqual(expected)
  })

  it.each([
    ['/v1/table/t/describe', { id: ['x1', 't'] }],
    ['/v1/table/t/describe', { id: ['x2', 't'] }],
    ['/v1/table/t/query', { k: 1, vector: [1], id: ['x1', 't'] }],
    ['/v1/table/t/explain_plan', { query: { id: ['x2', 't'], k: 1 } }],
  ])('of %s must not differ from the route: %j', async (target, body) => {
    const { gateway, upstream } = shared
    expectError(await gateway.post(target, { headers: x1, body }), {
      kind: 'InvalidInput',
      says: 'they must not differ',
    })
    expect(upstream.requests).toEqual([])
  })

  it('renames into another database only for callers that may create tables in that namespace', async () => {
    const { gateway } = shared
    const body = { new_table_name: 't', new_namespace_id: ['x2'] }
    expect(await gateway.post('/v1/table/t/rename', { as: 'ann', headers: x1, body })).toMatchObject({
      status: 200,
    })
    expect(JSON.parse((await sentUpstream()).body)).toMatchObject({ new_namespace_id: ['x1', 'x2'] })
    const outside = { as: 'ann', body: { ...body, new_table_name: 'u' } }
    expectError(await gateway.post('/v1/table/x1$t/rename', outside), {
      kind: 'PermissionDenied',
      says: 'on "x2.u"',
    })
  })
})

describe('a listing', () => {
  const namespaces = { '': ['x1', 'x2'], x1: ['n'], x2: ['m'] }
  const tables = { '': ['root'], x1: ['t1', 't2', 't3'], x2: ['t4'] }
  const allTables = ['root', 'x1$t1', 'x1$t2', 'x1$t3', 'x2$t4']

  it.each([
    ['/v1/table/?limit=10', x1, { tables: ['t1', 't2', 't3'] }],
    ['/v1/table/?limit=10', x2, { tables: ['t4'] }],
    ['/v1/table/?limit=10', { 'x-lancedb-database': 'any' }, { tables: ['root'] }],
    ['/v1/namespace/$/table/list', x2, { tables: ['t4'] }],
    ['/v1/namespace/$/list', x1, { namespaces: ['n'] }],
    ['/v1/namespace/$/list', {}, { namespaces: ['x1', 'x2'] }],
    ['/v1/table/', {}, { tables: allTables }],
  ])('of %s with %j has the names of that database', async (target, headers, expected) => {
    shared.upstream.handler = serveListings({ namespaces, tables, allTables })
    expect((await shared.gateway.get(target, { headers })).json).toEqual(expected)
  })

  it('continues in its own database only', async () => {
    const { gateway, upstream } = shared
    upstream.handler = serveListings({ namespaces, tables, allTables })
    const first = await gateway.get('/v1/table/?limit=2', { headers: x1 })
    const { page_token: token = '' } = first.json as { page_token?: string }
    const next = `/v1/table/?limit=2&page_token=${encodeURIComponent(token)}`
    expect((await gateway.get(next, { headers: x1 })).json).toEqual({ tables: ['t3'] })
    for (const headers of [x2, {}])
      expectError(await gateway.get(next, { headers }), { kind: 'InvalidInput', says: 'invalid page_token' })
  })

  it('shows nothing of a database that the caller may not see', async () => {
    const { gateway, upstream } = shared
    upstream.handler = serveListings({ namespaces, tables, allTables })
    expect((await gateway.get('/v1/table/', { as: 'ann', headers: x1 })).json).toEqual({
      tables: ['t1', 't2', 't3'],
    })
    expectError(await gateway.get('/v1/table/', { as: 'ann', headers: x2 }), {
      kind: 'PermissionDenied',
      says: 'you are not allowed',
    })
    expect((await gateway.get('/v1/namespace/$/list', { as: 'ann' })).json).toEqual({ namespaces: ['x1'] })
  })
})

describe('an id in a response', () => {
  it.each([
    ['/v1/table/n$t/describe', { table: 't', namespace: ['x1', 'n'] }, { table: 't', namespace: ['n'] }],
    ['/v1/table/t/describe', { table: 't', namespace: ['x1'] }, { table: 't', namespace: [] }],
    ['/v1/table/t/drop', { id: ['x1', 't'], location: 's3://b/t' }, { id: ['t'], location: 's3://b/t' }],
    ['/v1/table/t/deregister', { id: ['x1', 't'] }, { id: ['t'] }],
    // Nested members are data.
    [
      '/v1/table/t/describe',
      { namespace: ['x1'], properties: { id: 'x1$t' }, schema: { fields: [{ id: ['x1'] }] } },
      { namespace: [], properties: { id: 'x1$t' }, schema: { fields: [{ id: ['x1'] }] } },
    ],
  ])('to %s is relative: %j', async (target, response, expected) => {
    const { gateway, upstream } = shared
    upstream.handler = respondWith(200, response)
    expect((await gateway.post(target, { headers: x1 })).json).toEqual(expected)
    const absolute = target.replace('/v1/table/', () => '/v1/table/x1$')
    expect((await gateway.post(absolute)).json).toEqual(response)
  })
})

describe('a database header is refused', () => {
  it.each([
    ['with a slash', 'x1/n', 'has a prefix'],
    ['with a backslash', 'x1\\n', 'not allowed in a name'],
    ['with a dollar', 'x1$n', 'is the delimiter'],
    ['of two dots', '..', 'is a path segment'],
    ['without a name', '', 'the database is empty'],
    ['with a non-ASCII byte', 'x\xe9', 'is not ASCII'],
    ['in UTF-8', Buffer.from('é').toString('latin1'), 'is not ASCII'],
  ])('%s', async (_what, name, says) => {
    const { gateway, upstream } = shared
    for (const target of ['/v1/table/t/drop', '/v1/table/']) {
      const method = target === '/v1/table/' ? 'GET' : 'POST'
      const lines = ['host: g', `x-api-key: ${gateway.key('dev')}`, `x-lancedb-database: ${name}`]
      const request = `${method} ${target} HTTP/1.1\r\n${lines.join('\r\n')}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n`
      const [response] = await sendRaw(gateway.url, Buffer.from(request, 'latin1'))
      expectError(response, { kind: 'InvalidInput', says })
    }
    expect(upstream.requests).toEqual([])
  })

  it.each([
    ['repeated', ['x-lancedb-database: x1', 'x-lancedb-database: x2']],
    ['listed in Connection', ['x-lancedb-database: x1', 'connection: x-lancedb-database']],
    ['in another spelling', ['x_lancedb_database: x1']],
    ['with a prefix', ['x-lancedb-database: x1', 'x-lancedb-database-prefix: n']],
    ['of the root, with a prefix', ['x-lancedb-database: any', 'x-lancedb-database-prefix: x1']],
  ])('%s', async (_what, lines) => {
    const { gateway, upstream } = shared
    const head = ['POST /v1/table/t/drop HTTP/1.1', 'host: g', `x-api-key: ${gateway.key('dev')}`, ...lines]
    const [response] = await sendRaw(
      gateway.url,
      rawRequest([...head, 'connection: close', 'content-length: 0']),
    )
    expectError(response, { kind: 'InvalidInput', says: '(repeated|lists|ambiguous|has a prefix)' })
    expect(upstream.requests).toEqual([])
  })
})

// Every operation is in catalog-api/place-in-database.test.ts.
it.each([
  ['/v1/table/batch-commit', { operations: [{ declare_table: { id: ['x2', 't'] } }] }],
  ['/v1/materialized_view/v/create', { query: 'SELECT * FROM t' }],
  ['/v1/table/t/add_columns', { new_columns: [{ name: 'c', virtual_column: { udf: 'x' } }] }],
])('%s, which may name objects of other databases, is refused in one', async (target, body) => {
  const { gateway, upstream } = shared
  expectError(await gateway.post(target, { headers: x1, body }), {
    kind: 'InvalidInput',
    says: 'is not accepted in a database',
  })
  expect(upstream.requests).toEqual([])
})

it.each([
  '/v1/namespace/any/create',
  '/v1/namespace/any/describe',
  '/v1/table/any/create',
  '/v1/table/any$t/drop',
])('the database of the root is no namespace: %s', async (target) => {
  const { gateway, upstream } = shared
  for (const headers of [{}, { 'x-lancedb-database': 'any' }]) {
    expectError(await gateway.post(target, { headers }), {
      kind: 'InvalidInput',
      says: '"any" is the database of the root',
    })
  }
  expect(upstream.requests).toEqual([])
})

it('a job of another database is not that of the caller', async () => {
  const { gateway, upstream } = shared
  upstream.handler = respondWith(202, { job_id: 'job-1' })
  const started = await gateway.post('/v1/table/t/backfill_column', {
    as: 'ann',
    headers: x1,
    body: { column: 'c' },
  })
  const { job_id: job } = started.json as { job_id: string }
  upstream.handler = respondWith(200, { job_id: 'job-1', job_state: 'DONE' })
  const describeJob = { as: 'ann', body: { job_id: job } }
  for (const headers of [x1, {}]) {
    expect(await gateway.post('/v1/jobs/describe', { ...describeJob, headers })).toMatchObject({
      status: 200,
      json: { job_id: job },
    })
  }
  upstream.requests.length = 0
  expectError(await gateway.post('/v1/jobs/describe', { ...describeJob, headers: x2 }), {
    kind: 'PermissionDenied',
    says: 'you are not allowed',
  })
  expect(upstream.requests).toEqual([])
})
