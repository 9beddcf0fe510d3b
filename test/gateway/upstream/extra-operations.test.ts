import { describe, expect, it } from 'vitest'
import { ofKind, recordsOf } from '../../audit/audit-fixtures.ts'
import { expectError } from '../support/expect-error.ts'
import { withExtraOperations } from '../support/extra-operations.ts'
import { allowEverything } from '../support/open-gateway.ts'
import { respondWith } from '../support/recording-upstream.ts'
import { startGatewayAndUpstream, useSharedGateway } from '../support/running-gateway.ts'
import type { WrittenPolicy } from '../../policy/policy-builder.ts'
import { arrowBytes } from '../../support/arrow-upload.ts'

const everyExtra: WrittenPolicy = {
  name: 'extra',
  namespace: [],
  rules: [
    {
      id: 'use',
      effect: 'allow',
      subjects: { users: ['dev'] },
      operations: ['PrewarmTable', 'MirrorTable', 'CompactTable', 'WritePart', 'GetFileCache'],
    },
  ],
}

const setup = { ...withExtraOperations, policies: [allowEverything, everyExtra] }
const shared = useSharedGateway(setup)

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
    expect(await upstream.requests[0]?.body).toEqual(body)
    const refused = await gateway.post(target, { body: {} })
    expectError(refused, { kind: 'InvalidInput', says: 'content-type' })
  })

  it.each([
    ['another method', 'GET', '/v1/table/orders/mirror', 'Unsupported', 'use POST'],
    ['an undeclared parameter', 'POST', '/v1/table/orders/mirror?dry_run=1', 'InvalidInput', 'unknown query'],
    [
      'a parameter of another type',
      'POST',
      '/v1/table/o/file_cache/prewarm?dry_run=1',
      'InvalidInput',
      'true or',
    ],
    ['no table', 'POST', '/v1/table/$/mirror', 'InvalidInput', 'MirrorTable takes the id of a table'],
    ['a further segment', 'POST', '/v1/table/orders/mirror/now', 'NoOperation', 'unknown route'],
  ] as const)('is refused with %s', async (_what, method, target, kind, says) => {
    const { gateway, upstream } = shared
    const response = await gateway.send(method, target)
    expect(response.json).toMatchObject({ error: expect.stringContaining(says) as string })
    expect(response.status).toBe({ Unsupported: 405, InvalidInput: 400, NoOperation: 406 }[kind])
    expect(upstream.requests).toEqual([])
  })

  it('returns no storage credentials to a caller that may not receive them', async () => {
    const reader: WrittenPolicy = {
      name: 'reader',
      namespace: [],
      rules: [
        {
          id: 'r',
          effect: 'allow',
          subjects: { users: ['ci'] },
          operations: ['PrewarmTable', 'MirrorTable'],
        },
      ],
    }
    const { gateway, upstream } = await startGatewayAndUpstream({
      ...setup,
      users: ['ci'],
      policies: [allowEverything, everyExtra, reader],
    })
    const response = { table: { storage_options: { aws_secret_access_key: 's', region: 'eu' } } }
    upstream.answering = respondWith(200, response)
    for (const target of ['/v1/table/orders/mirror', '/v1/table/orders/file_cache/prewarm']) {
      expect((await gateway.post(target)).json).toEqual(response)
      expect((await gateway.post(target, { as: 'ci' })).json).toEqual({
        table: { storage_options: { region: 'eu' } },
      })
    }
    upstream.answering = respondWith(200, '')
    expect(await gateway.post('/v1/table/orders/mirror', { as: 'ci' })).toMatchObject({ status: 200 })
  })

  it('is recorded if it is a change, with its parameters', async () => {
    const { gateway } = await startGatewayAndUpstream(setup)
    await gateway.post('/v1/table/sales$orders/compact?target_rows=5', { body: { note: 'x' } })
    await gateway.post('/v1/table/sales$orders/file_cache/prewarm')
    await gateway.stop()
    const records = await recordsOf(gateway.auditFolder)
    expect(ofKind(records, 'intent')).toMatchObject([
      {
        operation: 'CompactTable',
        id: ['sales', 'orders'],
        effect: 'change',
        rule: { policy: 'extra', rule: 'use' },
        tables: [{ id: ['sales', 'orders'] }],
        details: { target_rows: '5' },
      },
    ])
    expect(ofKind(records, 'outcome')).toMatchObject([{ result: 'committed', status: 200 }])
  })

  it('has its name in metrics', async () => {
    const { gateway } = shared
    await gateway.post('/v1/table/orders/mirror')
    const metrics = await (await fetch(`${gateway.adminUrl}/metrics`)).text()
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
