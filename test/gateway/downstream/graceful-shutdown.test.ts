import { setTimeout as pause } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { openRawConnection } from '../support/raw-connection.ts'
import { chunkOf, keyedRequest } from '../support/raw-request.ts'
import { respondWith } from '../support/recording-upstream.ts'
import { startGatewayAndUpstream } from '../support/running-gateway.ts'
import { createDeferred } from '../support/waiting.ts'
import { arrowBytes } from '../../support/arrow-upload.ts'
import { eventually } from '../../support/eventually.ts'

/**
 * Less than the gateway waits for connections that delay it, which is half a minute. A shutdown takes half a second,
 * but it also seals the audit log, and a single write to a busy disk has taken more than five seconds.
 */
const timeoutMs = 20_000

/** `closed`, or `held up` if it takes too long. */
function outcomeOf(stopped: Promise<void>): Promise<string> {
  return Promise.race([stopped.then(() => 'closed'), pause(timeoutMs, 'held up')])
}

it('completes active requests before it closes, also if it is stopped twice', async () => {
  const { gateway, upstream } = await startGatewayAndUpstream()
  const finish = createDeferred()
  upstream.handler = async (arrival, response, request) => {
    await finish.promise
    return respondWith(200, { version: 4 })(arrival, response, request)
  }
  const response = gateway.post('/v1/table/orders/update', { body: {} })
  await eventually(() => expect(upstream.requests).toHaveLength(1))
  const ends: string[] = []
  const stopped = [gateway.stop(), gateway.stop()].map((stop) => stop.then(() => void ends.push('closed')))
  await pause(100)
  expect(ends).toEqual([])
  finish.resolve(undefined)
  expect(await response).toMatchObject({ status: 200, json: { version: 4 } })
  for (const stop of stopped) expect(await outcomeOf(stop)).toBe('closed')
  expect(await gateway.recorded('outcome')).toMatchObject([{ version: 4 }])
})

it('announces the shutdown before it refuses connections, if readiness is asked for', async () => {
  const { gateway, upstream } = await startGatewayAndUpstream({
    tuning: { clients: { drainDelayMs: 4_000 } },
  })
  await fetch(`${gateway.adminUrl}/readyz`)
  const finish = createDeferred()
  const hung = respondWith(200, { tables: [] })
  upstream.handler = (arrival, response, request) =>
    finish.promise.then(() => hung(arrival, response, request))
  const connection = openRawConnection(gateway.url)
  const listing = keyedRequest(gateway, 'dev', 'GET /v1/table')
  connection.write(listing)
  await eventually(() => expect(upstream.requests).toHaveLength(1))
  const stopped = gateway.stop()
  const ready = await fetch(`${gateway.adminUrl}/readyz`)
  expect([ready.status, await ready.json()]).toMatchObject([
    503,
    { problems: { gateway: 'the gateway is shutting down' } },
  ])
  upstream.handler = hung
  const late = openRawConnection(gateway.url)
  late.write(listing)
  expect(await late.waitForEnd()).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*\r\nconnection: close\r\n/i)
  finish.resolve(undefined)
  expect(await connection.waitForEnd()).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*\r\nconnection: close\r\n/i)
  expect(await outcomeOf(stopped)).toBe('closed')
  await expect(fetch(gateway.adminUrl)).rejects.toThrow()
})

it('aborts requests after the grace period, and records the outcome of a change', async () => {
  const { gateway, upstream } = await startGatewayAndUpstream({
    settings: { timeouts: { drainTimeoutMs: 300 } },
  })
  upstream.handler = () => undefined
  const update = gateway.post('/v1/table/orders/update', { body: {} })
  const query = gateway.post('/v1/table/orders/query', { body: {} })
  const upload = openRawConnection(gateway.url)
  upload.write(keyedRequest(gateway, 'dev', 'POST /v1/table/orders/insert', ['transfer-encoding: chunked']))
  upload.write(chunkOf(arrowBytes(0x4000)))
  const stalled = openRawConnection(gateway.url)
  stalled.write(keyedRequest(gateway, 'dev', 'POST /v1/table/orders/describe', ['content-length: 9'], '{'))
  await eventually(() => expect(upstream.requests).toHaveLength(3))
  const ends = Promise.allSettled([update, query])
  expect(await outcomeOf(gateway.stop())).toBe('closed')
  expect(await ends).toMatchObject([{ status: 'rejected' }, { status: 'rejected' }])
  await Promise.all([upload.waitForEnd(), stalled.waitForEnd()])
  expect(await gateway.recorded('outcome')).toMatchObject([{ result: 'unknown' }, { result: 'unknown' }])
})

it('completes a change whose client has disconnected before it closes', async () => {
  const { gateway, upstream } = await startGatewayAndUpstream()
  const finish = createDeferred()
  upstream.handler = (arrival, response, request) =>
    finish.promise.then(() => respondWith(200, { version: 9 })(arrival, response, request))
  const leave = new AbortController()
  const response = gateway.post('/v1/table/orders/update', { body: {}, signal: leave.signal })
  await eventually(() => expect(upstream.requests).toHaveLength(1))
  leave.abort()
  await expect(response).rejects.toThrow()
  const stopped = gateway.stop()
  await pause(500)
  finish.resolve(undefined)
  expect(await outcomeOf(stopped)).toBe('closed')
  expect(await gateway.recorded('outcome')).toMatchObject([{ version: 9 }])
})
