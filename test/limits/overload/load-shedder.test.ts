import type { ServerResponse } from 'node:http'
import { expect, it, onTestFinished } from 'vitest'
import { getOperation, type OperationName } from '../../../src/catalog-api/operations.ts'
import {
  createLoadShedder,
  type QueueDelay,
  type UpstreamLoad,
} from '../../../src/limits/overload/load-shedder.ts'
import { Overloaded } from '../../../src/limits/overload/fair-capacity.ts'
import { countRefusals } from '../../gateway/support/count-refusals.ts'
import { expectError } from '../../gateway/support/expect-error.ts'
import type { TestedGateway } from '../../gateway/support/open-gateway.ts'
import { startGatewayAndUpstream } from '../../gateway/support/running-gateway.ts'
import { respondWith } from '../../gateway/support/recording-upstream.ts'
import { eventually } from '../../support/eventually.ts'

async function shedRatioOf(gateway: TestedGateway, shedClass: string): Promise<number> {
  const metrics = await (await fetch(`${gateway.adminUrl}/metrics`)).text()
  const line = new RegExp(
    `^catalog_gateway_load_shed_ratio\\{upstream="catalog",class="${shedClass}"\\} (.+)$`,
    'm',
  )
  return Number(line.exec(metrics)?.[1])
}

const query = '/v1/table/orders/query'
const describe = '/v1/table/orders/describe'

it('refuses row operations while requests wait too long for the upstream, and queues small reads', async () => {
  const { gateway, upstream } = await startGatewayAndUpstream({
    tuning: { loadSheddingThresholdMs: 400, upstream: { maxBulkConnections: 1 } },
  })
  const retained: ServerResponse[] = []
  upstream.handler = (_arrival, response) => retained.push(response)
  const served = [gateway.post(query, { body: {} })]
  await eventually(() => expect(retained).toHaveLength(1))
  served.push(gateway.post(query, { body: {} }))
  await eventually(async () => expect(await shedRatioOf(gateway, 'bulk')).toBe(1))
  const refused = await gateway.post(query, { body: {} })
  expectError(refused, {
    kind: 'ServiceUnavailable',
    says: /(?:the gateway is overloaded|wait for a connection to the upstream); retry in [1-5] s$/,
  })
  expect(refused.headers['retry-after']).toMatch(/^[1-5]$/)
  expect(await countRefusals(gateway, 'overloaded')).toBe(1)
  served.push(gateway.post(describe), gateway.post('/v1/namespace/sales/create', { body: {} }))
  upstream.handler = respondWith(200, {})
  retained[0]?.end('{}')
  for (const response of served) expect(await response).toMatchObject({ status: 200 })
  await eventually(async () => expect(await shedRatioOf(gateway, 'bulk')).toBe(0))
  expect(await gateway.post(query, { body: {} })).toMatchObject({ status: 200 })
})

const idle = { oldestPendingMs: () => 0, canTake: () => true }
const slow = { oldestPendingMs: () => 1_000, canTake: () => false }

/** Pools that are not given are idle, and so are those of the upstream `lake`. */
function createShedder(queue: QueueDelay, slots: Partial<UpstreamLoad['slots']>) {
  const idlePools = { small: idle, bulk: idle, listing: idle }
  const catalog = { name: 'catalog', slots: { ...idlePools, ...slots } }
  const lake = { name: 'lake', slots: idlePools }
  const shedding = createLoadShedder(queue, [catalog, lake], 100)
  onTestFinished(() => shedding.close())
  const admitAt = (upstream: UpstreamLoad) => (operation: OperationName, principal: string) => () =>
    shedding.admit(upstream, getOperation(operation), principal)
  return { shedding, admit: admitAt(catalog), admitAtLake: admitAt(lake) }
}

it('refuses row operations while the event loop lags, regardless of the upstream', async () => {
  const queue = { wait: 1_000, oldestPendingMs: () => queue.wait }
  const { shedding, admit } = createShedder(queue, {})
  await eventually(() => expect(admit('QueryTable', 'dev')).toThrow(Overloaded))
  expect(admit('DescribeTable', 'dev')).not.toThrow()
  // Documents are large and can wait: they are shed like listings.
  expect(() => shedding.admitDocument()).not.toThrow()
  await eventually(() => expect(() => shedding.admitDocument()).toThrow(Overloaded))
  queue.wait = 0
  await eventually(() => expect(shedding.shedRatios().every(({ ratio }) => ratio === 0)).toBe(true))
  expect(admit('QueryTable', 'dev')).not.toThrow()
  expect(() => shedding.admitDocument()).not.toThrow()
})

it('a principal beyond its share does not cause refusals of others', async () => {
  const { admit } = createShedder(idle, {
    bulk: { oldestPendingMs: () => 1_000, canTake: (holder) => holder !== 'mallory' },
  })
  await eventually(() => expect(admit('QueryTable', 'mallory')).toThrow(Overloaded))
  for (const operation of ['QueryTable', 'CountTableRows', 'ListTables'] as const)
    for (let count = 0; count < 20; count += 1) expect(admit(operation, 'dev')).not.toThrow()
})

it.for([
  ['listing', 'ListTables', 'ListTableVersions'],
  ['small', 'ListTableVersions', 'ListTables'],
] as const)(
  'a slow pool %s causes refusals of %s, and none of %s or at another upstream',
  async ([pool, shed, served]) => {
    const { admit, admitAtLake } = createShedder(idle, { [pool]: slow })
    await eventually(() => expect(admit(shed, 'dev')).toThrow(Overloaded))
    for (let count = 0; count < 20; count += 1) {
      expect(admit(served, 'dev')).not.toThrow()
      expect(admitAtLake(shed, 'dev')).not.toThrow()
    }
  },
)
