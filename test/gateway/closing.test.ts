import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, it, onTestFinished } from 'vitest'
import { ofKind, recordsOf } from '../audit/entries.ts'
import { expectError } from './expect-error.ts'
import { exchangeRaw, rawRequest } from './raw-exchange.ts'
import { answers } from './recording-upstream.ts'
import { gatewayAndUpstream } from './running-gateway.ts'
import { deferred, eventually } from './waiting.ts'

/** Much longer than it takes, and much shorter than the gateway waits for connections that hold it up. */
const patienceMs = 5_000

/** `closed`, or `held up` where it takes too long. */
function outcomeOf(stopped: Promise<void>): Promise<string> {
  return Promise.race([stopped.then(() => 'closed'), pause(patienceMs, 'held up')])
}

it('requests under way are finished before the gateway is closed', async () => {
  const { gateway, upstream } = await gatewayAndUpstream()
  const finish = deferred()
  upstream.answering = async (arrival, response, request) => {
    await finish.promise
    return answers(200, { version: 4 })(arrival, response, request)
  }
  const answer = gateway.post('/v1/table/orders/update', { body: {} })
  await eventually(() => expect(upstream.arrivals).toHaveLength(1))
  const stopped = gateway.stop()
  finish.resolve(undefined)
  expect(await answer).toMatchObject({ status: 200, json: { version: 4 } })
  expect(await outcomeOf(stopped)).toBe('closed')
  expect(ofKind(await recordsOf(gateway.auditFolder), 'outcome')).toMatchObject([{ version: 4 }])
})

it.each([
  ['was never used', ''],
  ['is idle', 'GET /v1/nothing HTTP/1.1\r\nhost: g\r\n\r\n'],
  ['sent no HTTP', 'nonsense\r\n\r\n'],
])('a client that keeps a connection that %s does not hold up the end', async (_what, bytes) => {
  const { gateway } = await gatewayAndUpstream()
  const { hostname, port } = new URL(gateway.url)
  const socket = connect({ port: Number(port), host: hostname, allowHalfOpen: true })
  onTestFinished(() => void socket.destroy())
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  if (bytes !== '') {
    socket.write(bytes)
    await once(socket, 'data')
  }
  expect(await outcomeOf(gateway.stop())).toBe('closed')
})

it('a request that comes while the gateway closes is served, or refused in the shape of the interface', async () => {
  const { gateway, upstream } = await gatewayAndUpstream()
  const finish = deferred()
  upstream.answering = (arrival, response, request) =>
    finish.promise.then(() => answers(200, {})(arrival, response, request))
  const lines = ['GET /v1/table HTTP/1.1', 'host: g', `x-api-key: ${gateway.key('dev')}`]
  async function* requests(): AsyncGenerator<string> {
    yield rawRequest(lines)
    await eventually(() => expect(upstream.arrivals).toHaveLength(1))
    void gateway.stop()
    await eventually(() => expect(fetch(gateway.url)).rejects.toThrow())
    yield rawRequest([...lines, 'connection: close'])
    finish.resolve(undefined)
  }
  const [first, second] = await exchangeRaw(gateway.url, requests())
  expect(first).toMatchObject({ status: 200 })
  if (second?.status !== 200) expectError(second, { kind: 'ServiceUnavailable', says: /clos|shut/ })
})
