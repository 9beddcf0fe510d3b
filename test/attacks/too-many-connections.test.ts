import { connect } from 'node:net'
import { once } from 'node:events'
import { expect, it } from 'vitest'
import { refusalsCounted } from '../gateway/counted.ts'
import type { GatewaySetup } from '../gateway/open-gateway.ts'
import { openRaw } from '../gateway/raw-connection.ts'
import { rawRequest } from '../gateway/raw-exchange.ts'
import { gatewayAndUpstream } from '../gateway/running-gateway.ts'
import { eventually } from '../gateway/waiting.ts'

// Whoever opens connections and sends nothing must not take the files that everything else needs.
function limited(limits: { connections?: number; connectionsPerClient?: number }): GatewaySetup {
  return { adjust: (settings) => ({ ...settings, limits: { ...settings.limits, ...limits } }) }
}

const request = rawRequest(['GET /v1/table HTTP/1.1', 'host: g'])

it.each([
  [{ connections: 3 }, 'too_many_connections'],
  [{ connectionsPerClient: 3 }, 'too_many_connections_of_client'],
])('beyond %o connections are closed, and those that there are go on', async (limits, reason) => {
  const { gateway } = await gatewayAndUpstream(limited(limits))
  const held = Array.from({ length: 3 }, () => openRaw(gateway.url))
  for (const connection of held) {
    connection.write(request)
    await connection.until(/^HTTP\/1\.1 401 /)
  }
  for (let count = 1; count <= 5; count += 1) {
    const connection = openRaw(gateway.url)
    connection.write(request)
    expect(await connection.end()).toBe('')
    expect(await refusalsCounted(gateway, reason)).toBe(count)
  }
  expect((await fetch(`${gateway.adminUrl}/livez`)).status).toBe(200)
  held[0]?.write(request)
  await held[0]?.until(/(HTTP\/1\.1 401 [^]*){2}/)
  held[0]?.socket.destroy()
  await eventually(async () => {
    const connection = openRaw(gateway.url)
    connection.write(request)
    await once(connection.socket, 'readable').catch(() => undefined)
    await eventually(() => expect(connection.isClosed() || connection.received() !== '').toBe(true))
    expect(connection.received()).toMatch(/^HTTP\/1\.1 401 /)
  })
})

it('connections from another address are not those of the same client', async () => {
  const { gateway } = await gatewayAndUpstream(limited({ connectionsPerClient: 1 }))
  const held = openRaw(gateway.url)
  held.write(request)
  await held.until(/^HTTP\/1\.1 401 /)
  const other = connect({
    port: Number(new URL(gateway.url).port),
    host: '127.0.0.1',
    localAddress: '127.0.0.2',
  })
  other.write(request)
  const [first] = (await once(other, 'data')) as [Buffer]
  expect(String(first)).toMatch(/^HTTP\/1\.1 401 /)
  other.destroy()
})
