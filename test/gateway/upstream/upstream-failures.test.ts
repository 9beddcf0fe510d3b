import { createServer, type AddressInfo } from 'node:net'
import { once } from 'node:events'
import { expect, it, onTestFinished } from 'vitest'
import { freePort } from '../../support/free-port.ts'
import { expectError, expectUnknownOutcome } from '../support/expect-error.ts'
import { respondWith, type RequestHandler } from '../support/recording-upstream.ts'
import { withUpstream, type GatewaySetup } from '../support/open-gateway.ts'
import { startGatewayAndUpstream, startGatewayBefore } from '../support/running-gateway.ts'

const read = '/v1/table/orders/describe'
const change = '/v1/table/orders/drop'
/** Other failures must be found before the timeout, also on a slow machine. */
function withTimeout(timeout: 'responseHeadersTimeoutMs' | 'responseBodyTimeoutMs'): GatewaySetup {
  return withUpstream(() => ({}), { [timeout]: 300 })
}

function writes(bytes: string): RequestHandler {
  return (_arrival, response) => response.socket?.end(bytes)
}

it.each<[what: string, handler: RequestHandler, status: number, says: RegExp]>([
  [
    'closes without an answer',
    (_arrival, response) => response.socket?.end(),
    502,
    /or closed the connection/,
  ],
  [
    'resets the connection',
    (_arrival, response) => response.socket?.resetAndDestroy(),
    502,
    /or closed the connection/,
  ],
  ['answers something else than HTTP', writes('220 mail ready\r\n\r\n'), 502, /sent an invalid response/],
  ['never answers', () => undefined, 504, /did not respond in time/],
])('an upstream that %s causes an error of the interface', async (_what, handler, status, says) => {
  const { gateway, upstream } = await startGatewayAndUpstream(
    status === 504 ? withTimeout('responseHeadersTimeoutMs') : {},
  )
  upstream.handler = handler
  expectError(await gateway.post(read), { kind: 'ServiceUnavailable', status, says })
  expectUnknownOutcome(await gateway.post(change), says)
})

it('aborts an attempt after its total timeout, and the outcome of a change is unknown', async () => {
  const { gateway, upstream } = await startGatewayAndUpstream(
    withUpstream(() => ({ timeouts: { totalTimeoutMs: 500 } })),
  )
  upstream.handler = (_arrival, response) => {
    response.writeHead(200).write(' ')
    const timer = setInterval(() => response.write(' '), 20)
    response.once('close', () => clearInterval(timer))
  }
  await expect(gateway.post(read)).rejects.toThrow()
  expectUnknownOutcome(await gateway.post(change), 'did not respond in time')
  const outcomes = await gateway.recorded('outcome')
  expect(outcomes).toMatchObject([{ result: 'unknown', details: { reason: 'REQUEST_TIMEOUT' } }])
})

it('closes the connection of a client that reads nothing, and releases the upstream', async () => {
  const { gateway, upstream } = await startGatewayAndUpstream(
    withUpstream(() => ({}), { maxBulkConnections: 1, sendTimeoutMs: 300 }),
  )
  upstream.handler = (_arrival, response) => {
    response.writeHead(200)
    const push = (): void => {
      while (!response.destroyed && response.write(Buffer.alloc(64 * 1024)));
    }
    response.on('drain', push)
    push()
  }
  const { body } = await gateway.open('POST', '/v1/table/orders/query', { body: { k: 1 } })
  body.on('error', () => undefined)
  upstream.handler = respondWith(200, {})
  // It has the only connection of its pool.
  expect(await gateway.post('/v1/table/orders/query', { body: {} })).toMatchObject({ status: 200 })
  await expect(body.toArray()).rejects.toThrow()
})

it('responds with 502 if the upstream is down', async () => {
  const gateway = await startGatewayBefore(`http://127.0.0.1:${await freePort()}`)
  for (const target of [read, change]) {
    expectError(await gateway.post(target), { kind: 'ServiceUnavailable', status: 502, says: 'the catalog' })
  }
})

it('responds with 504 if the upstream accepts connections and sends nothing', async () => {
  // Only a TLS handshake waits for bytes of the upstream.
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  const gateway = await startGatewayBefore(
    `https://127.0.0.1:${port}`,
    withUpstream(() => ({}), { connectTimeoutMs: 300 }),
  )
  expectError(await gateway.post(read), {
    kind: 'ServiceUnavailable',
    status: 504,
    says: 'upstream connect timeout',
  })
})

it('a truncated response never looks complete', async () => {
  const { gateway, upstream } = await startGatewayAndUpstream(withTimeout('responseBodyTimeoutMs'))
  const cuts: RequestHandler[] = [
    (_arrival, response) => response.writeHead(200).write('{"half":', () => response.destroy()),
    (_arrival, response) =>
      response.writeHead(200, { 'content-length': 100 }).write('{"half":', () => response.destroy()),
    (_arrival, response) => response.writeHead(200).write('{"half":'),
  ]
  for (const handler of cuts) {
    upstream.handler = handler
    await expect(gateway.post('/v1/table/orders/query', { body: { k: 1 } })).rejects.toThrow()
  }
})

it('a change whose buffered response is truncated may have been done', async () => {
  const { gateway, upstream } = await startGatewayAndUpstream()
  upstream.handler = (_arrival, response) =>
    response.writeHead(200).write('{"version":', () => response.destroy())
  expectUnknownOutcome(await gateway.post(change), 'or closed the connection')
})

it('a change whose response is too large may have been done', async () => {
  const { gateway, upstream } = await startGatewayAndUpstream()
  upstream.handler = (_arrival, response) => response.writeHead(200).end(Buffer.alloc(17 * 1024 * 1024))
  expectUnknownOutcome(await gateway.post(change), 'too large')
})
