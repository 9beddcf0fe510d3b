import { expect, it } from 'vitest'
import { countRefusals } from '../../gateway/support/count-refusals.ts'
import { expectError } from '../../gateway/support/expect-error.ts'
import { allowEverythingForTwo } from '../../gateway/support/open-gateway.ts'
import { openRawConnection } from '../../gateway/support/raw-connection.ts'
import { rawRequest } from '../../gateway/support/raw-request.ts'
import { startGatewayAndUpstream } from '../../gateway/support/running-gateway.ts'
import { eventually } from '../../support/eventually.ts'
import { readReservedMemory } from './reserved-memory.ts'

// JSON bodies are buffered until they are checked. Many connections that send all but the last byte of a large body
// must not exhaust the memory of the process, or the share of others.
const mebibyte = 1024 * 1024
const update = '/v1/table/orders/update'

async function pair() {
  const { gateway } = await startGatewayAndUpstream({
    ...allowEverythingForTwo,
    tuning: { maxJsonMemoryBytes: 8 * mebibyte },
    adjust: (settings) => ({ ...settings, limits: { ...settings.limits, maxJsonBytes: mebibyte } }),
  })
  return gateway
}

it.each([
  ['a length', `content-length: ${mebibyte}`, `{"predicate":"${'x'.repeat(700_000)}`],
  ['chunks', 'transfer-encoding: chunked', `f0000\r\n{"predicate":"${'x'.repeat(0xf0000 - 14)}\r\n`],
])('incomplete large bodies with %s leave memory to others', async (_label, framing, body) => {
  const gateway = await pair()
  const attackers = Array.from({ length: 10 }, () => {
    const connection = openRawConnection(gateway.url)
    const lines = [`POST ${update} HTTP/1.1`, 'host: g', `x-api-key: ${gateway.key('mallory')}`, framing]
    connection.write(rawRequest([...lines, 'content-type: application/json'], body))
    return connection
  })
  // Four bodies of one mebibyte fill half of the memory limit.
  await eventually(async () => expect(await countRefusals(gateway, 'overloaded')).toBe(6))
  expect(await readReservedMemory(gateway)).toBeLessThanOrEqual(4 * mebibyte)
  const large = { predicate: `name = '${'x'.repeat(900_000)}'`, updates: [] }
  expect(await gateway.post(update, { body: large })).toMatchObject({ status: 200 })
  const refused = await gateway.post(update, { as: 'mallory', body: large })
  expectError(refused, { kind: 'ServiceUnavailable', says: 'its share of the memory for bodies' })
  expect(await gateway.post(update, { as: 'mallory', body: { updates: [] } })).toMatchObject({ status: 200 })
  for (const { socket } of attackers) socket.destroy()
  await eventually(async () => expect(await readReservedMemory(gateway)).toBe(0))
})
