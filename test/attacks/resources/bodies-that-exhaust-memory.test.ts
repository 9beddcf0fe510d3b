import { expect, it } from 'vitest'
import { continuation, maxMetadataBytes } from '../../../src/arrow/index.ts'
import { arrowStreamType } from '../../../src/catalog-api/index.ts'
import { countRefusals } from '../../gateway/support/count-refusals.ts'
import { expectError } from '../../gateway/support/expect-error.ts'
import { allowEverythingForTwo } from '../../gateway/support/open-gateway.ts'
import { openRawConnection } from '../../gateway/support/raw-connection.ts'
import { keyedRequest } from '../../gateway/support/raw-request.ts'
import { startGatewayAndUpstream } from '../../gateway/support/running-gateway.ts'
import { arrowUpload, endOfStreamBytes } from '../../support/arrow-upload.ts'
import { eventually } from '../../support/eventually.ts'
import { readReservedMemory } from './reserved-memory.ts'

// JSON bodies, and headers in uploads, are buffered until they are checked. Many connections that send all but the last byte
// of a large one must not exhaust the memory of the process, or the share of others.
const mebibyte = 1024 * 1024
const update = '/v1/table/orders/update'

async function pair() {
  const { gateway } = await startGatewayAndUpstream({
    ...allowEverythingForTwo,
    tuning: { maxJsonMemoryBytes: 8 * mebibyte },
    settings: { limits: { maxJsonBytes: mebibyte } },
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
    const lines = [framing, 'content-type: application/json']
    connection.write(keyedRequest(gateway, 'mallory', `POST ${update}`, lines, body))
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

it('uploads that stop in the header of a batch leave memory to others', async () => {
  const gateway = await pair()
  const header = Buffer.alloc(8)
  header.writeUInt32LE(continuation)
  header.writeInt32LE(maxMetadataBytes, 4)
  const start = Buffer.concat([arrowUpload.subarray(0, -endOfStreamBytes), header, Buffer.alloc(0xf0000)])
  const uploads = Array.from({ length: 10 }, () => {
    const connection = openRawConnection(gateway.url)
    const lines = [`content-type: ${arrowStreamType}`, `content-length: ${maxMetadataBytes}`]
    connection.write(keyedRequest(gateway, 'mallory', 'POST /v1/table/orders/insert', lines))
    connection.write(start)
    return connection
  })
  await eventually(async () => expect(await countRefusals(gateway, 'overloaded')).toBeGreaterThan(5))
  expect(await readReservedMemory(gateway)).toBeLessThanOrEqual(4 * mebibyte)
  for (const { socket } of uploads) socket.destroy()
  await eventually(async () => expect(await readReservedMemory(gateway)).toBe(0))
})
