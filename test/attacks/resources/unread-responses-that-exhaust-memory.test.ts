import { expect, it } from 'vitest'
import { countRefusals } from '../../gateway/support/count-refusals.ts'
import { serveListings } from '../../gateway/support/listing-upstream.ts'
import { allowEverythingForTwo } from '../../gateway/support/open-gateway.ts'
import { openRawConnection } from '../../gateway/support/raw-connection.ts'
import { rawRequest } from '../../gateway/support/raw-request.ts'
import { respondWith } from '../../gateway/support/recording-upstream.ts'
import { startGatewayAndUpstream } from '../../gateway/support/running-gateway.ts'
import { eventually } from '../../support/eventually.ts'
import { policyOf, ruleFor } from '../support/policy-templates.ts'
import { readReservedMemory } from './reserved-memory.ts'

// A response that the gateway reads before it sends it is in memory until the client has read it. 100 unread
// descriptions of 8 MiB took 1 GiB, of one caller.
const mebibyte = 1024 * 1024
const metadata = Object.fromEntries(
  Array.from({ length: 8 }, (_, index) => [`k${index}`, 'x'.repeat(mebibyte - 16)]),
)
const tables = Array.from({ length: 9000 }, (_, index) => `t${String(index).padStart(500, '0')}`)
const withoutCredentials = policyOf([], [ruleFor(['mallory'], ['VendCredentials'], { effect: 'deny' })])

async function attack(line: string, maxJsonMemoryBytes = 32 * mebibyte) {
  const { gateway, upstream } = await startGatewayAndUpstream({
    ...allowEverythingForTwo,
    policies: [...allowEverythingForTwo.policies, withoutCredentials],
    tuning: { maxJsonMemoryBytes },
  })
  const list = serveListings({ tables: { sales: tables } })
  const describe = respondWith(200, { metadata })
  upstream.handler = (arrival, ...others) =>
    (arrival.target.includes('list') ? list : describe)(arrival, ...others)
  const head = [`${line} HTTP/1.1`, 'host: g', `x-api-key: ${gateway.key('mallory')}`, 'content-length: 0']
  const connections = Array.from({ length: 8 }, () => {
    const connection = openRawConnection(gateway.url)
    connection.socket.pause()
    connection.write(rawRequest(head))
    return connection
  })
  await eventually(async () => expect(await countRefusals(gateway, 'overloaded')).toBeGreaterThan(3))
  return { gateway, connections }
}

it.each([
  ['descriptions', 'POST /v1/table/orders/describe'],
  ['responses to changes', 'POST /v1/table/orders/drop'],
])('unread %s of one caller leave memory to others', async (_label, line) => {
  const { gateway, connections } = await attack(line)
  expect(await readReservedMemory(gateway)).toBeLessThanOrEqual(16 * mebibyte)
  expect(await gateway.post('/v1/table/orders/rename', { body: { new_table_name: 'n' } })).toMatchObject({
    status: 200,
  })
  for (const { socket } of connections) socket.destroy()
  await eventually(async () => expect(await readReservedMemory(gateway)).toBe(0))
})

it('listings count, too', async () => {
  // One of them needs more than its caller may have: the buffers of sockets hold several.
  await attack('GET /v1/namespace/sales/table/list', 8 * mebibyte)
})

it('a change whose response finds no memory counts as one that may have been done', async () => {
  const { gateway, connections } = await attack('POST /v1/table/orders/drop')
  for (const { socket } of connections) socket.destroy()
  await gateway.stop()
  const outcomes = await gateway.recorded('outcome')
  expect(outcomes).toHaveLength(8)
  expect(new Set(outcomes.map(({ result }) => result))).toEqual(new Set(['committed', 'unknown']))
})
