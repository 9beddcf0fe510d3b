import { connect } from 'node:net'
import { once } from 'node:events'
import { expect, it } from 'vitest'
import { countRefusals } from '../../gateway/support/count-refusals.ts'
import { allowEverythingForTwo, type GatewaySetup } from '../../gateway/support/open-gateway.ts'
import { openRawConnection, type RawConnection } from '../../gateway/support/raw-connection.ts'
import { keyedRequest, rawRequest } from '../../gateway/support/raw-request.ts'
import { respondWith } from '../../gateway/support/recording-upstream.ts'
import { startGatewayAndUpstream } from '../../gateway/support/running-gateway.ts'
import { createDeferred } from '../../gateway/support/waiting.ts'
import { eventually } from '../../support/eventually.ts'

// Idle connections must not exhaust the file descriptors of the process.
function limited(limits: { maxConnections?: number; maxConnectionsPerAddress?: number }): GatewaySetup {
  return { settings: { limits } }
}

const request = rawRequest(['GET /v1/table HTTP/1.1', 'host: g'])

it('closes connections beyond the limit of one client, and keeps existing ones', async () => {
  const { gateway } = await startGatewayAndUpstream(limited({ maxConnectionsPerAddress: 3 }))
  const held = Array.from({ length: 3 }, () => openRawConnection(gateway.url))
  for (const connection of held) {
    connection.write(request)
    await connection.waitFor(/^HTTP\/1\.1 401 /)
  }
  for (let count = 1; count <= 5; count += 1) {
    const connection = openRawConnection(gateway.url)
    connection.write(request)
    expect(await connection.waitForEnd()).toBe('')
    expect(await countRefusals(gateway, 'too_many_connections_of_client')).toBe(count)
  }
  expect((await fetch(`${gateway.adminUrl}/livez`)).status).toBe(200)
  held[0]?.write(request)
  await held[0]?.waitFor(/(HTTP\/1\.1 401 [^]*){2}/)
  held[0]?.socket.destroy()
  await eventually(async () => {
    const connection = openRawConnection(gateway.url)
    connection.write(request)
    await once(connection.socket, 'readable').catch(() => undefined)
    await eventually(() => expect(connection.isClosed() || connection.received() !== '').toBe(true))
    expect(connection.received()).toMatch(/^HTTP\/1\.1 401 /)
  })
})

it.each([
  ['send nothing', ''],
  ['send an incomplete head', 'GET /v1/table HTTP/1.1\r\nhost: g\r\nx-slow: '],
  ['have received a response', request],
])('closes connections that %s in favor of new ones, oldest first', async (_label, sent) => {
  const { gateway } = await startGatewayAndUpstream(limited({ maxConnections: 3 }))
  const idle: RawConnection[] = []
  for (let count = 0; count < 3; count += 1) {
    const connection = openRawConnection(gateway.url)
    await once(connection.socket, 'connect')
    connection.write(sent)
    if (sent === request) await connection.waitFor(/^HTTP\/1\.1 401 /)
    idle.push(connection)
  }
  for (let count = 1; count <= 3; count += 1) {
    const connection = openRawConnection(gateway.url)
    connection.write(request)
    await connection.waitFor(/^HTTP\/1\.1 401 /)
    await eventually(() => expect(idle.filter((each) => each.isClosed())).toEqual(idle.slice(0, count)))
  }
  expect(await countRefusals(gateway, 'too_many_connections')).toBe(0)
})

it('does not close connections with an active request in favor of new ones', async () => {
  const { gateway, upstream } = await startGatewayAndUpstream({
    ...limited({ maxConnections: 2 }),
    ...allowEverythingForTwo,
  })
  const finish = createDeferred()
  upstream.handler = async (arrival, response, message) => {
    await finish.promise
    return respondWith(200, {})(arrival, response, message)
  }
  const pending = [gateway.post('/v1/table/orders/describe')]
  await eventually(() => expect(upstream.requests).toHaveLength(1))
  for (let count = 0; count < 5; count += 1) {
    const connection = openRawConnection(gateway.url)
    connection.write(request)
    await connection.waitFor(/^HTTP\/1\.1 401 /)
  }
  pending.push(gateway.post('/v1/table/orders/describe', { as: 'mallory' }))
  await eventually(() => expect(upstream.requests).toHaveLength(2))
  for (let count = 1; count <= 5; count += 1) {
    const connection = openRawConnection(gateway.url)
    connection.write(request)
    expect(await connection.waitForEnd()).toBe('')
    expect(await countRefusals(gateway, 'too_many_connections')).toBe(count)
  }
  finish.resolve(undefined)
  for (const response of pending) expect(await response).toMatchObject({ status: 200 })
})

it('slow small bodies leave half of the connections to other principals', async () => {
  const { gateway } = await startGatewayAndUpstream({
    ...limited({ maxConnections: 8 }),
    ...allowEverythingForTwo,
  })
  const body = keyedRequest(
    gateway,
    'mallory',
    'POST /v1/table/orders/describe',
    ['content-length: 100'],
    '{',
  )
  for (let count = 0; count < 12; count += 1) openRawConnection(gateway.url).write(body)
  // Four fill half of the limit; the others get a response.
  await eventually(async () => expect(await countRefusals(gateway, 'overloaded')).toBe(8))
  expect(await gateway.post('/v1/table/orders/describe')).toMatchObject({ status: 200 })
})

it('an address at its limit closes no connection of others', async () => {
  const { gateway } = await startGatewayAndUpstream(
    limited({ maxConnections: 2, maxConnectionsPerAddress: 1 }),
  )
  const victim = openRawConnection(gateway.url)
  victim.write(request)
  await victim.waitFor(/^HTTP\/1\.1 401 /)
  const fromElsewhere = () =>
    connect({ port: Number(new URL(gateway.url).port), host: '127.0.0.1', localAddress: '127.0.0.2' })
  const held = fromElsewhere()
  held.write(request)
  await once(held, 'data')
  const excess = fromElsewhere()
  excess.on('error', () => undefined)
  await once(excess, 'close')
  expect(await countRefusals(gateway, 'too_many_connections_of_client')).toBe(1)
  victim.write(request)
  await victim.waitFor(/(HTTP\/1\.1 401 [^]*){2}/)
  held.destroy()
})
