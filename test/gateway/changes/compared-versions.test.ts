import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { ofKind, recordsOf } from '../../audit/audit-fixtures.ts'
import { orders, streamOf } from '../../../src/backend/test/engine/sample-tables.ts'
import { runningBackend } from '../../../src/backend/test/support/running-backend.ts'
import { eventually } from '../../support/eventually.ts'
import { runCommand } from '../../support/run-command.ts'
import { serveListings } from '../support/listing-upstream.ts'
import type { GatewaySetup, TestedGateway } from '../support/open-gateway.ts'
import { respondWith, type RequestHandler } from '../support/recording-upstream.ts'
import { startGatewayAndUpstream, startGatewayBefore } from '../support/running-gateway.ts'

const id = ['sales', 'orders']
const table = '/v1/table/sales$orders'
const rows = Buffer.from(streamOf(orders(3)))

/** Compares more often than the settings of users may say. */
const intervalSeconds = 0.1

const comparing = (auditFolder?: string): GatewaySetup => ({
  adjust: (settings) => ({
    ...settings,
    audit: {
      ...settings.audit,
      continuity: 'warn',
      ...(auditFolder !== undefined && { folder: auditFolder }),
    },
    upstreams: settings.upstreams.map((upstream) => ({
      ...upstream,
      compareVersionsSeconds: intervalSeconds,
    })),
  }),
})

async function startCatalog() {
  const catalog = await runningBackend()
  await catalog.post('/v1/namespace/sales/create', {})
  const sendPast = async (change: string) =>
    expect((await catalog.post(`${table}/${change}`, rows)).status).toBeLessThan(300)
  return { catalog, sendPast }
}

async function comparisonsOf({ auditFolder }: TestedGateway) {
  return ofKind(await recordsOf(auditFolder), 'comparison')
}

async function metric({ adminUrl }: TestedGateway, name: string): Promise<number> {
  const metrics = await (await fetch(`${adminUrl}/metrics`)).text()
  return Number(new RegExp(`^catalog_gateway_${name}(?:{[^}]*})? (.*)$`, 'm').exec(metrics)?.[1])
}

/** Resolves when the latest round has read this many tables. */
const compared = (gateway: TestedGateway, tables: number) =>
  eventually(async () => expect(await metric(gateway, 'upstream_compared_tables')).toBe(tables))

it('records versions that were committed past the gateway once, also over a restart', async () => {
  const { catalog, sendPast } = await startCatalog()
  await sendPast('create')
  const gateway = await startGatewayBefore(catalog.url(), comparing())
  const { auditFolder } = gateway
  await compared(gateway, 1)
  expect(await comparisonsOf(gateway)).toEqual([])
  await sendPast('insert')
  await eventually(async () => expect(await metric(gateway, 'out_of_band_versions_total')).toBe(1))
  const found = { upstream: 'catalog', id, before: 1, version: 2, outOfBand: [{ id, from: 2, to: 2 }] }
  expect(await comparisonsOf(gateway)).toMatchObject([found])
  await gateway.stop()

  await sendPast('insert')
  await sendPast('insert')
  const restarted = await startGatewayBefore(catalog.url(), comparing(auditFolder))
  await eventually(async () => expect(await metric(restarted, 'out_of_band_versions_total')).toBe(2))
  await pause(3_000 * intervalSeconds)
  await restarted.stop()
  expect(await comparisonsOf(gateway)).toMatchObject([
    found,
    { before: 2, version: 4, outOfBand: [{ id, from: 3, to: 4 }] },
  ])
  expect(await runCommand(['audit', 'verify', auditFolder])).toMatchObject({ status: 0 })
  const selected = [auditFolder, '--table', 'sales$orders']
  const { output } = await runCommand(['audit', 'query', ...selected])
  expect(output).toMatch(/ comparison .* sales\/orders .* version 4 after 2; out of band: 3\.\.4$/m)
  const proof = join(auditFolder, 'proof')
  await writeFile(proof, (await runCommand(['audit', 'prove', ...selected])).output)
  const publicKey = join(auditFolder, 'seal-public-key.pem')
  const verified = await runCommand(['audit', 'verify-proof', proof, '--public-key', publicKey])
  expect(verified).toMatchObject({ status: 0, output: expect.stringContaining('2 records') })
})

it('records no version that was made through the gateway, under load and whatever its response states', async () => {
  const { catalog, sendPast } = await startCatalog()
  const gateway = await startGatewayBefore(catalog.url(), comparing())
  const change = async (name: string, body: object) =>
    expect(await gateway.post(`${table}/${name}`, { body })).toMatchObject({ status: 200 })
  await change('create', rows)
  for (let round = 0; round < 10; round += 1) {
    await Promise.all([
      change('insert', rows),
      change('insert', rows),
      change('schema_metadata/update', { round: String(round) }),
    ])
    await pause(Math.random() * 1_000 * intervalSeconds)
  }
  await change('create?mode=overwrite', rows)
  await change('insert', rows)
  await pause(3_000 * intervalSeconds)
  expect(await comparisonsOf(gateway)).toEqual([])
  await sendPast('insert')
  await eventually(async () => expect(await comparisonsOf(gateway)).toHaveLength(1))
  const outOfBand = ofKind(await recordsOf(gateway.auditFolder), 'outcome').filter((each) => each.outOfBand)
  expect(outOfBand).toEqual([])
})

/** Lists `serveListings`, and describes the newest version of each table by its id as `describe` says. */
function describing(
  catalog: Parameters<typeof serveListings>[0],
  describe: (table: string) => RequestHandler,
): RequestHandler {
  const list = serveListings(catalog)
  return (arrival, response, request) => {
    const found = /^\/v1\/table\/(.*)\/version\/describe$/.exec(arrival.target)?.[1]
    return (found === undefined ? list : describe(decodeURIComponent(found)))(arrival, response, request)
  }
}

const version = (number: number): RequestHandler => respondWith(200, { version: { version: number } })
const noVersion = respondWith(404, { error: 'no version', code: 11 })

it('a table that was declared through the gateway has had no version before those of its clients', async () => {
  const { gateway, upstream } = await startGatewayAndUpstream(comparing())
  upstream.answering = respondWith(200, { location: 's3://lake/t' })
  await gateway.post('/v1/table/t/declare', { body: {} })
  upstream.answering = describing({ tables: { '': ['t'] }, namespaces: { '': [] } }, () => version(2))
  await eventually(async () => expect(await comparisonsOf(gateway)).toHaveLength(1))
  expect(await comparisonsOf(gateway)).toMatchObject([
    { id: ['t'], before: 0, version: 2, outOfBand: [{ id: ['t'], from: 1, to: 2 }] },
  ])
})

it('a lower version is recorded as what it is', async () => {
  const { gateway, upstream } = await startGatewayAndUpstream(comparing())
  const catalog = { tables: { '': ['t'] }, namespaces: { '': [] } }
  upstream.answering = describing(catalog, () => version(7))
  await compared(gateway, 1)
  upstream.answering = describing(catalog, () => version(2))
  const [record] = await eventually(async () => {
    const records = await comparisonsOf(gateway)
    expect(records).toHaveLength(1)
    return records
  })
  expect(record).toMatchObject({ id: ['t'], before: 7, version: 2 })
  expect(record).not.toHaveProperty('outOfBand')
  expect(await metric(gateway, 'out_of_band_versions_total')).toBe(0)
})

it('compares the tables of all namespaces and pages, but those of other upstreams', async () => {
  const many = Array.from({ length: 1_100 }, (_, index) => `t${index}`)
  const namespaces = { '': ['a', 'other'], a: ['b'], a$b: [], other: [] }
  const tables = { '': ['root', 'in$valid'], a: many, a$b: ['leaf'], other: ['hidden'] }
  const described = new Set<string>()
  const { gateway, upstream } = await startGatewayAndUpstream({
    adjust: async (settings, folder) => {
      const adjusted = (await comparing().adjust?.(settings, folder)) ?? settings
      const [first] = adjusted.upstreams
      const elsewhere = {
        ...first,
        name: 'other',
        namespaces: [['other']],
        compareVersionsSeconds: undefined,
      }
      return { ...adjusted, upstreams: [...adjusted.upstreams, elsewhere] } as typeof settings
    },
  })
  upstream.answering = describing({ namespaces, tables }, (name) => {
    described.add(name)
    return version(1)
  })
  await compared(gateway, 1_102)
  expect(described).toEqual(new Set(['root', ...many.map((name) => `a$${name}`), 'a$b$leaf']))
})

it.each<[what: string, describe: (table: string) => RequestHandler, tables: number]>([
  ['does not describe versions', () => respondWith(501, { error: 'not here', code: 0 }), 0],
  ['fails for one table', (name) => (name === 't3' ? respondWith(500, {}) : version(1)), 9],
  ['describes no version of a table that had some', (name) => (name === 't3' ? noVersion : version(1)), 9],
])('if the upstream %s, the comparison is incomplete until it does', async (_what, describe, tables) => {
  const { gateway, upstream } = await startGatewayAndUpstream(comparing())
  const catalog = {
    tables: { '': Array.from({ length: 10 }, (_, index) => `t${index}`) },
    namespaces: { '': [] },
  }
  const incomplete = () => metric(gateway, 'upstream_comparison_incomplete')
  upstream.answering = describing(catalog, () => version(1))
  await compared(gateway, 10)
  expect(await incomplete()).toBe(0)
  upstream.answering = describing(catalog, describe)
  await compared(gateway, tables)
  expect(await incomplete()).toBe(1)
  upstream.answering = describing(catalog, () => version(1))
  await compared(gateway, 10)
  expect(await incomplete()).toBe(0)
  expect(await comparisonsOf(gateway)).toEqual([])
})
