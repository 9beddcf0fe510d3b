import { createServer, type AddressInfo } from 'node:net'
import { once } from 'node:events'
import { expect, it, onTestFinished } from 'vitest'
import { ofKind, recordsOf } from '../../audit/audit-fixtures.ts'
import { expectError } from '../support/expect-error.ts'
import { respondWith, type RequestHandler } from '../support/recording-upstream.ts'
import { withUpstream } from '../support/open-gateway.ts'
import { startGatewayAndUpstream, startGatewayBefore } from '../support/running-gateway.ts'

const read = '/v1/table/orders/describe'
const change = '/v1/table/orders/drop'
const impatient = withUpstream(({ timeouts }) => ({
  timeouts: {
    ...timeouts,
    connectTimeoutMs: 2_000,
    responseHeadersTimeoutMs: 300,
    responseBodyTimeoutMs: 300,
  },
}))

function writes(bytes: string): RequestHandler {
  return (_arrival, response) => response.socket?.end(bytes)
}

it.each<[what: string, answering: RequestHandler, status: number, says: RegExp]>([
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
  ['answers something else than HTTP', writes('220 mail ready\r\n\r\n'), 502, /or closed the connection/],
  [
    'answers an endless head',
    writes(`HTTP/1.1 200 OK\r\nx: ${'y'.repeat(40_000)}`),
    502,
    /or closed the connection/,
  ],
  ['breaks off in the head', writes('HTTP/1.1 200 OK\r\ncontent-le'), 502, /or closed the connection/],
  ['never answers', () => undefined, 504, /did not respond in time/],
])('an upstream that %s is answered as an error of the interface', async (_what, answering, status, says) => {
  const { gateway, upstream } = await startGatewayAndUpstream(impatient)
  upstream.answering = answering
  for (const target of [read, change]) {
    expectError(await gateway.post(target), { kind: 'ServiceUnavailable', status, says })
  }
})

it('an exchange ends after its time, however busy it is, and what became of a change is unknown', async () => {
  const { gateway, upstream } = await startGatewayAndUpstream(
    withUpstream(({ timeouts }) => ({ timeouts: { ...timeouts, totalTimeoutMs: 300 } })),
  )
  upstream.answering = (_arrival, response) => {
    response.writeHead(200)
    const timer = setInterval(() => response.write(' '), 20)
    response.once('close', () => clearInterval(timer))
  }
  await expect(gateway.post(read)).rejects.toThrow()
  const late = { kind: 'ServiceUnavailable', status: 504, says: 'did not respond in time' } as const
  expectError(await gateway.post(change), late)
  const outcomes = ofKind(await recordsOf(gateway.auditFolder), 'outcome')
  expect(outcomes).toMatchObject([{ result: 'unknown', details: { reason: 'RequestTimeout' } }])
})

it('a client that takes nothing of its answer for too long is cut off, and the upstream is free', async () => {
  const { gateway, upstream } = await startGatewayAndUpstream(
    withUpstream(({ timeouts }) => ({
      maxBulkConnections: 1,
      timeouts: { ...timeouts, sendTimeoutMs: 300 },
    })),
  )
  upstream.answering = (_arrival, response) => {
    response.writeHead(200)
    const push = (): void => {
      while (!response.destroyed && response.write(Buffer.alloc(64 * 1024)));
    }
    response.on('drain', push)
    push()
  }
  const { body } = await gateway.open('POST', '/v1/table/orders/query', { body: { k: 1 } })
  body.on('error', () => undefined)
  upstream.answering = respondWith(200, {})
  // It has the only connection of its pool.
  expect(await gateway.post('/v1/table/orders/query', { body: {} })).toMatchObject({ status: 200 })
  await expect(body.arrayBuffer()).rejects.toThrow()
})

it('an upstream that is down is answered 502', async () => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  const gateway = await startGatewayBefore(`http://127.0.0.1:${port}`)
  for (const target of [read, change]) {
    expectError(await gateway.post(target), { kind: 'ServiceUnavailable', status: 502, says: 'the catalog' })
  }
})

it('an upstream that accepts connections and then says nothing is answered 504', async () => {
  // Only the handshake of TLS waits for a word of the upstream.
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  const gateway = await startGatewayBefore(
    `https://127.0.0.1:${port}`,
    withUpstream(({ timeouts }) => ({ timeouts: { ...timeouts, connectTimeoutMs: 300 } })),
  )
  expectError(await gateway.post(read), {
    kind: 'ServiceUnavailable',
    status: 504,
    says: 'upstream connect timeout',
  })
})

it('an answer that breaks off after it has begun never looks whole', async () => {
  const { gateway, upstream } = await startGatewayAndUpstream(impatient)
  const cuts: RequestHandler[] = [
    (_arrival, response) => response.writeHead(200).write('{"half":', () => response.destroy()),
    (_arrival, response) =>
      response.writeHead(200, { 'content-length': 100 }).write('{"half":', () => response.destroy()),
    (_arrival, response) => response.writeHead(200).write('{"half":'),
  ]
  for (const answering of cuts) {
    upstream.answering = answering
    await expect(gateway.post('/v1/table/orders/query', { body: { k: 1 } })).rejects.toThrow()
  }
})

it('an answer to a change that breaks off is answered 502, since it is held back', async () => {
  const { gateway, upstream } = await startGatewayAndUpstream()
  upstream.answering = (_arrival, response) =>
    response.writeHead(200).write('{"version":', () => response.destroy())
  expectError(await gateway.post(change), {
    kind: 'ServiceUnavailable',
    status: 502,
    says: 'or closed the connection',
  })
})

it('an answer to a change that is larger than any should be is answered 502', async () => {
  const { gateway, upstream } = await startGatewayAndUpstream()
  upstream.answering = (_arrival, response) => response.writeHead(200).end(Buffer.alloc(17 * 1024 * 1024))
  expectError(await gateway.post(change), { kind: 'ServiceUnavailable', status: 502, says: 'too large' })
})

it('the gateway goes on when the upstream is there again', async () => {
  const { gateway, upstream } = await startGatewayAndUpstream()
  const good = upstream.answering
  upstream.answering = (_arrival, response) => response.socket?.destroy()
  expect(await gateway.post(read)).toMatchObject({ status: 502 })
  upstream.answering = good
  expect(await gateway.post(read)).toMatchObject({ status: 200 })
})
