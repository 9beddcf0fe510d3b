import { expect, it, onTestFinished } from 'vitest'
import { countRefusals } from '../../gateway/support/count-refusals.ts'
import type { GatewaySetup } from '../../gateway/support/open-gateway.ts'
import { openRawConnection } from '../../gateway/support/raw-connection.ts'
import { rawRequest } from '../../gateway/support/raw-request.ts'
import { startGatewayAndUpstream } from '../../gateway/support/running-gateway.ts'

// An endless head costs the client nothing, and the gateway a connection (slow loris).
const headersTimeoutMs = 400
const setup = setupWithTimeout(headersTimeoutMs)

function setupWithTimeout(ms: number): GatewaySetup {
  return { tuning: { clients: { headersTimeoutMs: ms } } }
}
const tooSlow = /^HTTP\/1\.1 408 Request Timeout\r\n[^]*"error":"request timeout"/

it.each([
  ['stops', 'GET /v1/table HTTP/1.1\r\nhost', ''],
  ['comes byte by byte', 'GET /v1/table HTTP/1.1\r\n', 'x'],
  ['comes line by line', 'GET /v1/table HTTP/1.1\r\n', 'x: y\r\n'],
])('a head that %s gets a 408, and its connection is closed', async (_label, first, next) => {
  const { gateway, upstream } = await startGatewayAndUpstream(setup)
  const connection = openRawConnection(gateway.url)
  connection.write(first)
  const timer = setInterval(() => next !== '' && connection.write(next), headersTimeoutMs / 8)
  onTestFinished(() => clearInterval(timer))
  expect(await connection.waitForEnd()).toMatch(tooSlow)
  expect(await countRefusals(gateway, 'request_timeout')).toBe(1)
  expect(upstream.requests).toEqual([])
})

it('the timeout of a second head is that of the first', async () => {
  const { gateway } = await startGatewayAndUpstream(setupWithTimeout(5 * headersTimeoutMs))
  const connection = openRawConnection(gateway.url)
  connection.write(rawRequest(['GET /openapi.json HTTP/1.1', 'host: g']))
  await connection.waitFor(/200 OK/)
  connection.write('GET /v1/table HTTP/1.1\r\nhost')
  expect(await connection.waitForEnd()).toMatch(/HTTP\/1\.1 408 /)
})

it('closes a connection without any bytes without a response', async () => {
  const { gateway } = await startGatewayAndUpstream(setup)
  expect(await openRawConnection(gateway.url).waitForEnd()).toBe('')
  expect(await countRefusals(gateway, 'idle_timeout')).toBe(1)
})

it('closes an idle connection after a response without another response', async () => {
  const { gateway } = await startGatewayAndUpstream({ settings: { timeouts: { keepAliveTimeoutMs: 300 } } })
  const connection = openRawConnection(gateway.url)
  connection.write(rawRequest(['GET /v1/nothing HTTP/1.1', 'host: g']))
  expect(await connection.waitForEnd()).toMatch(/^HTTP\/1\.1 406 [^]*\}$/)
  expect(await countRefusals(gateway, 'idle_timeout')).toBe(0)
})
