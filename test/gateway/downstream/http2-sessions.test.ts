import { expect, it } from 'vitest'
import { countRefusals } from '../support/count-refusals.ts'
import { withHttp2, type GatewaySetup } from '../support/open-gateway.ts'
import { openRawHttp2, type RawHttp2 } from '../support/raw-http2.ts'
import { respondWith } from '../support/recording-upstream.ts'
import { startGatewayAndUpstream } from '../support/running-gateway.ts'
import { createDeferred } from '../support/waiting.ts'
import type { Field } from '../../support/hpack.ts'
import { errorCodes } from '../../support/http2-frames.ts'
import type { ClientBounds } from '../../../src/gateway/bounds.ts'
import { eventually } from '../../support/eventually.ts'

function withTimeouts(clients: Partial<ClientBounds>, keepAliveTimeoutMs = 75_000): GatewaySetup {
  return {
    tuning: { clients },
    adjust: (settings) => ({
      ...settings,
      listen: { ...settings.listen, h2c: true },
      timeouts: { ...settings.timeouts, keepAliveTimeoutMs },
    }),
  }
}

function query(connection: RawHttp2, streamId: number, key: string): Promise<boolean> {
  const fields: Field[] = [
    [':method', 'POST'],
    [':path', '/v1/table/orders/query'],
    ['x-api-key', key],
  ]
  return connection.request(streamId, fields)
}

it.each<[label: string, setup: GatewaySetup]>([
  ['shuts down', withHttp2],
  ['ends a connection at its maximum age', withTimeouts({ maxConnectionAgeMs: 2_000 })],
])('sends GOAWAY when it %s, completes streams, and serves no later ones', async (label, setup) => {
  const { gateway, upstream } = await startGatewayAndUpstream(setup)
  const finish = createDeferred()
  upstream.answering = (...parts) => finish.promise.then(() => respondWith(200, { version: 4 })(...parts))
  const key = gateway.key('dev')
  const connection = await openRawHttp2(gateway.url)
  await query(connection, 1, key)
  await eventually(() => expect(upstream.requests).toHaveLength(1))
  const stopped = label === 'shuts down' ? gateway.stop() : undefined
  await eventually(() => expect(connection.goaways()).toEqual([errorCodes.noError]))
  await query(connection, 3, key)
  finish.resolve(undefined)
  expect(await connection.waitForEnd(1)).toBe('complete')
  expect(connection.body(1)).toBe('{"version":4}')
  await stopped
  await eventually(() => expect(connection.isClosed()).toBe(true))
  expect(connection.status(3)).toBeUndefined()
  expect(upstream.requests).toHaveLength(1)
})

it('closes a connection without a stream after the keep-alive timeout', async () => {
  const { gateway } = await startGatewayAndUpstream(withTimeouts({}, 1_000))
  const connection = await openRawHttp2(gateway.url)
  await query(connection, 1, gateway.key('dev'))
  expect(await connection.waitForStatus(1)).toBe(200)
  await eventually(() => expect(connection.isClosed()).toBe(true))
  expect(new Set(connection.goaways())).toEqual(new Set([errorCodes.noError]))
})

it('closes a connection that never opens a stream', async () => {
  const { gateway } = await startGatewayAndUpstream(withTimeouts({ headersTimeoutMs: 1_000 }))
  const connection = await openRawHttp2(gateway.url)
  await eventually(() => expect(connection.isClosed()).toBe(true))
})

it('a client that resets an idle connection is not counted as an error', async () => {
  const { gateway } = await startGatewayAndUpstream(withHttp2)
  const [idle, other] = [await openRawHttp2(gateway.url), await openRawHttp2(gateway.url)]
  for (const streamId of [1, 3]) {
    await query(other, streamId, gateway.key('dev'))
    await other.waitForEnd(streamId)
    idle.destroy()
  }
  expect(await countRefusals(gateway, 'http2_error')).toBe(0)
})
