import type { ServerResponse } from 'node:http'
import { expect, it, onTestFinished } from 'vitest'
import { getOperation, type OperationName } from '../../../src/catalog-api/operations.ts'
import {
  createLoadShedder,
  type LoadShedder,
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
  upstream.answering = (_arrival, response) => retained.push(response)
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
  upstream.answering = respondWith(200, {})
  retained[0]?.end('{}')
  for (const response of served) expect(await response).toMatchObject({ status: 200 })
  await eventually(async () => expect(await shedRatioOf(gateway, 'bulk')).toBe(0))
  expect(await gateway.post(query, { body: {} })).toMatchObject({ status: 200 })
})

const idle = { oldestPendingMs: () => 0, isFreeFor: () => true }
const slow = { oldestPendingMs: () => 1_000, isFreeFor: () => false }

/** Pools that are not given are idle, and so are those of the upstream `lake`. */
function createShedder(queue: QueueDelay, slots: Partial<UpstreamLoad['slots']>): LoadShedder {
  const idlePools = { small: idle, bulk: idle, listing: idle }
  const upstreams = [
    { name: 'catalog', slots: { ...idlePools, ...slots } },
    { name: 'lake', slots: idlePools },
  ]
  const shedding = createLoadShedder(queue, upstreams, 100)
  onTestFinished(() => shedding.close())
  return shedding
}

it('refuses row operations while the event loop lags, regardless of the upstream', async () => {
  const queue = { wait: 1_000, oldestPendingMs: () => queue.wait }
  const shedding = createShedder(queue, {})
  await eventually(() =>
    expect(() => shedding.admit('catalog', getOperation('QueryTable'), 'dev')).toThrow(Overloaded),
  )
  expect(() => shedding.admit('catalog', getOperation('DescribeTable'), 'dev')).not.toThrow()
  // Documents are large and can wait: they are shed like listings.
  expect(() => shedding.admitDocument()).not.toThrow()
  await eventually(() => expect(() => shedding.admitDocument()).toThrow(Overloaded))
  queue.wait = 0
  await eventually(() => expect(shedding.shedRatios().every(({ ratio }) => ratio === 0)).toBe(true))
  expect(() => shedding.admit('catalog', getOperation('QueryTable'), 'dev')).not.toThrow()
  expect(() => shedding.admitDocument()).not.toThrow()
})

it('a principal beyond its share does not cause refusals of others', async () => {
  const shedding = createShedder(idle, {
    bulk: { oldestPendingMs: () => 1_000, isFreeFor: (holder) => holder !== 'mallory' },
  })
  await eventually(() =>
    expect(() => shedding.admit('catalog', getOperation('QueryTable'), 'mallory')).toThrow(Overloaded),
  )
  for (const operation of ['QueryTable', 'CountTableRows', 'ListTables'] as const)
    for (let count = 0; count < 20; count += 1)
      expect(() => shedding.admit('catalog', getOperation(operation), 'dev')).not.toThrow()
})

it.for([
  ['listing', 'ListTables', 'ListTableVersions'],
  ['small', 'ListTableVersions', 'ListTables'],
] as const)(
  'a slow pool %s causes refusals of %s, and none of %s or at another upstream',
  async ([pool, shed, served]) => {
    const shedding = createShedder(idle, { [pool]: slow })
    const admit = (operation: OperationName) => () =>
      shedding.admit('catalog', getOperation(operation), 'dev')
    await eventually(() => expect(admit(shed)).toThrow(Overloaded))
    for (let count = 0; count < 20; count += 1) {
      expect(admit(served)).not.toThrow()
      expect(() => shedding.admit('lake', getOperation(shed), 'dev')).not.toThrow()
    }
  },
)
