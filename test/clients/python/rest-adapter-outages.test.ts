import { once } from 'node:events'
import { stat } from 'node:fs/promises'
import { connect, createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, inject, it, onTestFinished } from 'vitest'
import { auditedChanges } from '../../e2e/audited-changes.ts'
import { ofKind, recordsOf } from '../../audit/audit-fixtures.ts'
import { createFixture, createSite, type Fixture } from '../../conformance/fixture.ts'
import { rows } from '../../conformance/sample-rows.ts'
import { stageVersions } from '../../conformance/staged-versions.ts'
import { expectError } from '../../gateway/support/expect-error.ts'
import type { GatewaySetup, TestedGateway } from '../../gateway/support/open-gateway.ts'
import { startGatewayBefore } from '../../gateway/support/running-gateway.ts'
import { adapterEnvironment, startRestAdapter } from './rest-adapter.ts'
import { eventually } from '../../support/eventually.ts'

/** Resolves in-doubt changes without delay. */
const resolvingSetup: GatewaySetup = { tuning: { resolution: { settleTimeMs: 100 } } }

/** Other tests judge the form of responses. */
function ignoreForm(): void {}

async function createFixtureBehind(gateway: TestedGateway): Promise<Fixture> {
  const target = { url: gateway.url, credentials: { 'x-api-key': gateway.key('dev') } }
  return createFixture(await createSite(target, ignoreForm), target, ignoreForm)
}

type Lost = 'nothing' | 'requests' | 'responses'

/** A proxy that loses requests or responses if told to: it then closes the connection when one begins. */
async function startLossyProxy(upstreamUrl: string) {
  const { port } = new URL(upstreamUrl)
  let lost: Lost = 'nothing'
  const server = createServer((downstream) => {
    const upstream = connect(Number(port), '127.0.0.1')
    const close = (): void => {
      downstream.destroy()
      upstream.destroy()
    }
    for (const socket of [downstream, upstream]) socket.on('error', close).on('close', close)
    downstream.on('data', (chunk) => (lost === 'requests' ? close() : upstream.write(chunk)))
    upstream.on('data', (chunk) => (lost === 'responses' ? close() : downstream.write(chunk)))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    lose: (next: Lost) => void (lost = next),
  }
}

/** The entity tag that the adapter gives a file. */
async function entityTagOf(file: string): Promise<string> {
  const { ino, mtimeNs, size } = await stat(file, { bigint: true })
  return [ino, mtimeNs / 1000n, size].map((part) => part.toString(16)).join('-')
}

async function resolutionsOf(gateway: TestedGateway) {
  return ofKind(await recordsOf(gateway.auditFolder), 'resolved')
}

it('a killed REST adapter is reported as unavailable, and used again once it is back', async ({ skip }) => {
  skip(!inject('installedClients').includes(adapterEnvironment), `${adapterEnvironment} is not installed`)
  const adapter = await startRestAdapter()
  const gateway = await startGatewayBefore(adapter.url)
  const count = () => gateway.post('/v1/table/orders/count_rows', { body: {} })
  const insert = () => gateway.post('/v1/table/orders/insert', { body: Buffer.from(rows(3)) })
  await gateway.post('/v1/table/orders/create', { body: Buffer.from(rows(3)) })
  expect((await count()).json).toBe(3)

  await adapter.kill()
  const statuses = new Set<number>()
  await eventually(async () => {
    const response = await count()
    expectError(response, { kind: 'ServiceUnavailable', status: response.status, says: /catalog|upstream/ })
    statuses.add(response.status)
    expect(statuses).toContain(503)
  })
  expect(statuses).toEqual(new Set([502, 503]))

  await adapter.restart()
  await eventually(async () => expect(await insert()).toMatchObject({ status: 200 }))
  expect((await count()).json).toBe(6)
  const inserts = await auditedChanges(gateway.auditFolder, 'InsertIntoTable')
  expect(inserts.filter(({ outcome }) => outcome?.result === 'committed')).toHaveLength(1)
})

it.for<[lost: Lost, resolution: object, rowCount: number]>([
  ['requests', { result: 'not_committed' }, 3],
  ['responses', { result: 'committed', versions: [{ version: 2 }] }, 4],
])(
  'resolves a commit after an outage of the REST adapter with lost %s',
  async ([lost, expected, rowCount], { skip }) => {
    skip(!inject('installedClients').includes(adapterEnvironment), `${adapterEnvironment} is not installed`)
    const adapter = await startRestAdapter()
    const proxy = await startLossyProxy(adapter.url)
    const gateway = await startGatewayBefore(proxy.url, resolvingSetup)
    const fixture = await createFixtureBehind(gateway)
    const id = await fixture.table(3)
    const [staged] = await stageVersions(fixture, id)
    const e_tag = await entityTagOf(join('/', staged?.manifest_path ?? ''))

    proxy.lose(lost)
    expect(await fixture.call('CreateTableVersion', id, { body: { ...staged, e_tag } })).toMatchObject({
      status: 424,
    })
    await adapter.kill()
    proxy.lose('nothing')
    expect(await resolutionsOf(gateway)).toEqual([])
    await adapter.restart()
    await eventually(async () => expect(await resolutionsOf(gateway)).toMatchObject([expected]))
    expect((await fixture.call('CountTableRows', id)).json).toBe(rowCount)
  },
)
