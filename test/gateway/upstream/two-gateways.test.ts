import { connect, connectNamespace } from '@lancedb/lancedb'
import { expect, it, onTestFinished } from 'vitest'
import { policyOf, ruleFor } from '../../attacks/support/policy-templates.ts'
import { ofKind, recordsOf } from '../../audit/audit-fixtures.ts'
import { runningBackend } from '../../../src/backend/test/support/running-backend.ts'
import type { GatewaySettings } from '../../../src/config/gateway-settings.ts'
import { upstreamSchema } from '../../../src/config/upstream/upstream-settings.ts'
import { openGateway, type GatewaySetup, type TestedGateway } from '../support/open-gateway.ts'
import { expectError } from '../support/expect-error.ts'

const rows = [
  { id: 1, vector: [1, 0] },
  { id: 2, vector: [0, 1] },
]

/** May do everything, except drop `kept` in the namespace `lake`. */
function policiesFor(user: string, protectedTable: string): NonNullable<GatewaySetup['policies']> {
  return [
    policyOf([], [ruleFor([user])]),
    policyOf(['lake'], [ruleFor([user], ['DropTable'], { effect: 'deny', tables: [protectedTable] })]),
  ]
}

interface Chain {
  readonly outer: TestedGateway
  readonly inner: TestedGateway
}

interface ChainSetup {
  /** Database that the outer gateway sends with every request. */
  readonly database?: string
  readonly databases?: GatewaySettings['databases']
  readonly identity?: 'original'
}

/**
 * Two gateways in front of the bundled catalog. The outer one has a key of the inner one, or forwards that of the caller,
 * for whom both have one then.
 */
async function startChain({ database, databases = 'refused', identity }: ChainSetup = {}): Promise<Chain> {
  const backend = await runningBackend()
  let innerIdentity: GatewaySettings['identity'] | undefined
  const inner = await openGateway(backend.url(), {
    users: ['outer', 'ada'],
    policies: policiesFor(identity === 'original' ? 'ada' : 'outer', 'kept-by-inner'),
    adjust(settings) {
      innerIdentity = settings.identity
      return { ...settings, databases }
    },
  })
  onTestFinished(() => inner.close())
  const credential = { header: 'x-api-key' as const, value: inner.key('outer') }
  const outer = await openGateway(inner.url, {
    policies: policiesFor('ada', 'kept-by-outer'),
    adjust: (settings) => ({
      ...settings,
      databases,
      identity: innerIdentity ?? settings.identity,
      upstreams: [
        upstreamSchema.parse({
          url: inner.url,
          ...(identity === undefined ? { credential } : { identity }),
          ...(database !== undefined && { database }),
        }),
      ],
    }),
  })
  onTestFinished(() => outer.close())
  return { outer, inner }
}

it.each<[name: string, setup: ChainSetup]>([
  ['no database', {}],
  ['a database for the inner gateway', { database: 'any' }],
  ['databases that are namespaces', { databases: 'namespaces' }],
  ['the credential of the caller forwarded', { identity: 'original' }],
])('serves clients of both dialects with %s', async (_what, setup) => {
  const { outer, inner } = await startChain(setup)
  const key = inner.key('ada')
  const catalog = await connectNamespace('rest', { uri: outer.url, headers: { 'x-api-key': key } })
  await catalog.createNamespace(['lake'])
  const made = await catalog.createTable('made', rows, ['lake'])
  await made.add(rows)
  expect(await made.countRows()).toBe(4)

  const remote = await connect('db://any', { apiKey: key, hostOverride: outer.url })
  const table = await remote.openTable('made', ['lake'])
  expect(await table.version()).toBe(2)
  expect((await table.schema()).fields.map(({ name }) => name)).toEqual(['id', 'vector'])
  expect((await table.vectorSearch([1, 0.1]).limit(1).toArray()).map(({ id }) => id)).toEqual([1])
  await remote.createTable('other', rows, ['lake'])
  await expect(remote.createTable('other', rows, ['lake'])).rejects.toThrow(/already exists/)
  expect(await remote.tableNames(['lake'])).toEqual(['made', 'other'])
  expect(await catalog.tableNames(['lake'])).toEqual(['made', 'other'])
  expect(await (await catalog.openTable('other', ['lake'])).countRows()).toBe(2)

  await remote.createTable('at-root', rows)
  expect(await remote.tableNames()).toEqual(['at-root'])
  expect((await outer.get('/v1/table', { headers: { 'x-api-key': key } })).json).toEqual({
    tables: ['at-root', 'lake$made', 'lake$other'],
  })
})

it('places the tables of a database once', async () => {
  const { outer, inner } = await startChain({ databases: 'namespaces' })
  const key = inner.key('ada')
  await outer.post('/v1/namespace/lake/create', { headers: { 'x-api-key': key } })
  const client = await connect('db://lake', { apiKey: key, hostOverride: outer.url })
  await client.createTable('t', rows)
  expect(await client.tableNames()).toEqual(['t'])
  expect(await (await client.openTable('t')).countRows()).toBe(2)
  expect((await inner.get('/v1/table', { as: 'outer' })).json).toEqual({ tables: ['lake$t'] })
})

it('the policies of both decide, and both record, each with the caller that it has authenticated', async () => {
  const { outer, inner } = await startChain()
  const headers = { 'x-api-key': inner.key('ada') }
  await outer.post('/v1/namespace/lake/create', { headers })
  for (const name of ['kept-by-outer', 'kept-by-inner', 'other'])
    await outer.post(`/v1/table/lake$${name}/declare`, { headers, body: {} })
  for (const name of ['kept-by-outer', 'kept-by-inner']) {
    const refused = await outer.post(`/v1/table/lake$${name}/drop`, { headers })
    expectError(refused, { kind: 'PermissionDenied', says: '' })
  }
  const dropped = await outer.post('/v1/table/lake$other/drop', {
    headers: { ...headers, 'x-request-id': 'drop-1' },
  })
  expect(dropped.status).toBe(200)
  expect(await intentsOf(outer, 'drop-1')).toMatchObject([
    { operation: 'DropTable', principal: { name: 'ada' } },
  ])
  expect(await intentsOf(inner, 'drop-1')).toMatchObject([
    { operation: 'DropTable', principal: { name: 'outer' } },
  ])
})

async function intentsOf({ auditFolder }: TestedGateway, requestId: string) {
  return ofKind(await recordsOf(auditFolder), 'intent').filter(({ request }) => request === requestId)
}
