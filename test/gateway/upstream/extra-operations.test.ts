import { describe, expect, it } from 'vitest'
import { policyOf, ruleFor } from '../../attacks/support/policy-templates.ts'
import { expectError } from '../support/expect-error.ts'
import { withExtraOperations } from '../support/extra-operations.ts'
import { allowEverything } from '../support/open-gateway.ts'
import { startGatewayAndUpstream, useSharedGateway } from '../support/running-gateway.ts'
import type { WrittenPolicy } from '../../policy/policy-builder.ts'
import { arrowBytes } from '../../support/arrow-upload.ts'

const everyExtra = policyOf(
  [],
  [ruleFor(['dev'], ['PrewarmTable', 'MirrorTable', 'CompactTable', 'WritePart', 'GetFileCache'])],
  { name: 'extra' },
)

const setup = { ...withExtraOperations, policies: [allowEverything, everyExtra] }
const shared = useSharedGateway(setup)

const allow = (user: string, ...operations: readonly string[]): WrittenPolicy =>
  policyOf([], [ruleFor([user], operations)], { name: user })

const deny = (namespace: string, operations: readonly string[], when: string): WrittenPolicy =>
  policyOf([namespace], [ruleFor([], operations, { effect: 'deny', subjects: { everyone: true }, when })])

// What rules cover is in policy/language/extra-operations.test.ts.
describe('rules decide on extra operations', () => {
  const decided = useSharedGateway({
    ...withExtraOperations,
    users: ['named'],
    policies: [
      allowEverything,
      allow('named', 'CompactTable', 'MirrorTable'),
      deny('branches', ['change'], 'operation != "CompactTable" && branch != "" && !branch.like("ci/*")'),
      deny('main', ['MirrorTable'], 'branch == "main"'),
    ],
  })

  it.each([
    ['by name', 'sales', 'compact', 200],
    ['by a rule on branches', 'branches', 'mirror', 403],
    ['by a rule on branches that allows it by name', 'branches', 'compact', 200],
    ['by a rule on main, because its branch is unknown', 'main', 'mirror', 403],
  ])('%s', async (_how, namespace, action, status) => {
    const response = await decided.gateway.post(`/v1/table/${namespace}$orders/${action}`, { as: 'named' })
    expect(response.status).toBe(status)
  })

  it('with their names, and reveal no table to callers that may not list it', async () => {
    const says = 'you are not allowed CompactTable on ["sales","orders"]'
    const compact = '/v1/table/sales$orders/compact'
    expectError(await decided.gateway.post(compact), { kind: 'PermissionDenied', says })
    const policies = [{ ...allow('named', 'PrewarmTable'), onDeny: 404 } as const]
    const { gateway } = await startGatewayAndUpstream({ ...withExtraOperations, users: ['named'], policies })
    expectError(await gateway.post(compact, { as: 'named' }), { kind: 'NamespaceNotFound', says: 'sales' })
  })
})

describe('an extra operation', () => {
  it('is forwarded in the form of its declaration', async () => {
    const { gateway, upstream } = shared
    const targets = [
      '/v1/table/sales.orders/file_cache/prewarm?delimiter=.&dry_run=TRUE',
      '/v1/table/sales$orders/file_cache/prewarm/',
      '/v1/table/sales%24orders/mirror/',
    ]
    for (const target of targets)
      expect(await gateway.post(target, { body: {} })).toMatchObject({ status: 200 })
    expect(await gateway.get('/v1/table/sales$orders/file_cache')).toMatchObject({ status: 200 })
    expect(upstream.requests.map(({ method, target }) => `${method} ${target}`)).toEqual([
      'POST /v1/table/sales%24orders/file_cache/prewarm/?dry_run=true',
      'POST /v1/table/sales%24orders/file_cache/prewarm/',
      'POST /v1/table/sales%24orders/mirror',
      'GET /v1/table/sales%24orders/file_cache',
    ])
  })

  it('has a JSON body that passes unchanged, or an empty object', async () => {
    const { gateway, upstream } = shared
    const body = '{"id":["orders"],"note":"x","count":1.0}'
    await gateway.post('/v1/table/orders/mirror', { body, headers: { 'content-type': 'application/json' } })
    await gateway.post('/v1/table/orders/mirror')
    const received = await Promise.all(upstream.requests.map(async (request) => String(await request.body)))
    expect(received).toEqual([body, '{}'])
  })

  it('may upload an Arrow stream', async () => {
    const { gateway, upstream } = shared
    const body = arrowBytes(100_000)
    const headers = { 'content-type': 'application/vnd.apache.arrow.stream' }
    const target = '/v1/table/orders/multipart_write/part'
    expect(await gateway.post(target, { body, headers })).toMatchObject({ status: 200 })
    expect((await upstream.requests[0]?.body)?.equals(body)).toBe(true)
    const refused = await gateway.post(target, { body: {} })
    expectError(refused, { kind: 'InvalidInput', says: 'content-type' })
  })

  it('is recorded if it is a change, with its parameters', async () => {
    const { gateway } = await startGatewayAndUpstream(setup)
    await gateway.post('/v1/table/sales$orders/compact?target_rows=5', { body: { note: 'x' } })
    await gateway.post('/v1/table/sales$orders/file_cache/prewarm')
    await gateway.stop()
    expect(await gateway.recorded('intent')).toMatchObject([
      {
        operation: 'CompactTable',
        id: ['sales', 'orders'],
        effect: 'change',
        rule: { policy: 'extra', rule: 'rule-0' },
        tables: [{ id: ['sales', 'orders'] }],
        details: { target_rows: '5' },
      },
    ])
    expect(await gateway.recorded('outcome')).toMatchObject([{ result: 'committed', status: 200 }])
  })

  it('has its name in metrics', async () => {
    const { gateway } = shared
    await gateway.post('/v1/table/orders/mirror')
    const metrics = await gateway.metrics()
    expect(metrics).toMatch(/^catalog_gateway_requests_total\{operation="MirrorTable",status="200".* \d+$/m)
  })

  it('is in the OpenAPI document of this gateway', async () => {
    const { json } = await shared.gateway.get('/openapi.json', { as: null })
    expect(json).toMatchObject({
      paths: {
        '/v1/table/{id}/mirror': {
          post: { operationId: 'MirrorTable', 'x-effect': 'change', 'x-group': 'admin' },
        },
        '/v1/table/{id}/file_cache': { get: { operationId: 'GetFileCache' } },
      },
    })
  })

  it('is not known to another gateway in the same process', async () => {
    const { gateway } = await startGatewayAndUpstream()
    expect(JSON.stringify((await gateway.get('/openapi.json')).json)).not.toContain('MirrorTable')
    const response = await gateway.post('/v1/table/orders/mirror')
    expectError(response, { kind: 'Unsupported', status: 406, says: 'unknown route' })
  })
})
