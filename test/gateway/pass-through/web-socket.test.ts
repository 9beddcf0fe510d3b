import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { connect, type AddressInfo, type Socket } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { WebSocket } from 'undici'
import { readAuditLog } from '../../../src/audit/storage/read-audit-log.ts'
import { startGatewayWithRoute } from '../support/pass-through-gateway.ts'
import { openRawConnection } from '../support/raw-connection.ts'
import { readRaw, rawRequest } from '../support/raw-request.ts'
import { createDeferred } from '../support/waiting.ts'
import { eventually } from '../../support/eventually.ts'

interface EchoServer {
  readonly url: string
  readonly requests: IncomingMessage[]
  readonly sockets: Socket[]
}

/** Returns each frame that it gets, unmasked (RFC 6455, section 5.3). */
function echo(frame: Buffer): Buffer {
  const length = (frame[1] ?? 0) & 0x7f
  const mask = frame.subarray(2, 6)
  const payload = frame.subarray(6, 6 + length).map((byte, index) => byte ^ (mask[index % 4] ?? 0))
  return Buffer.concat([Buffer.from([frame[0] ?? 0, length]), payload])
}

/** An application that speaks WebSocket. */
async function startEchoServer(): Promise<EchoServer> {
  const requests: IncomingMessage[] = []
  const sockets: Socket[] = []
  const server = createServer((_, response) => response.writeHead(404).end())
  server.on('upgrade', (request: IncomingMessage, socket: Socket) => {
    requests.push(request)
    sockets.push(socket)
    const key = `${request.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`
    const accept = createHash('sha1').update(key).digest('base64')
    const head = ['HTTP/1.1 101 Switching Protocols', 'upgrade: websocket', 'connection: upgrade']
    socket.write(rawRequest([...head, `sec-websocket-accept: ${accept}`]))
    socket.on('data', (frame: Buffer) => socket.write(echo(frame)))
    socket.on('error', () => undefined)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests, sockets }
}

async function startGatewayWithWebSocket(route: object = {}) {
  const application = await startEchoServer()
  const upstream = `${application.url}/console`
  const { gateway } = await startGatewayWithRoute({ route: { upstream, webSocket: true, ...route } })
  return { gateway, application }
}

function open(url: string, headers: Record<string, string>): WebSocket {
  return new WebSocket(`${url.replace('http:', 'ws:')}/ui/live?a=1`, { headers })
}

it('messages pass in both directions, and the connection is audited', async () => {
  const { gateway, application } = await startGatewayWithWebSocket()
  const socket = open(gateway.url, { 'x-api-key': gateway.key('dev') })
  await once(socket, 'open')
  socket.send('hello')
  const [message] = (await once(socket, 'message')) as [MessageEvent]
  expect(message.data).toBe('hello')
  expect(application.requests[0]).toMatchObject({ url: '/console/live?a=1', method: 'GET' })
  expect(application.requests[0]?.headers).not.toHaveProperty('x-api-key')
  socket.close()
  const records = []
  for await (const record of readAuditLog(gateway.auditFolder)) {
    if (record.kind === 'passThrough') records.push(record)
  }
  expect(records).toMatchObject([{ upgrade: 'websocket', path: '/console/live', principal: { name: 'dev' } }])
})

it('a connection that the upstream closes is closed, and the other way round', async () => {
  const { gateway, application } = await startGatewayWithWebSocket()
  const first = open(gateway.url, { 'x-api-key': gateway.key('dev') })
  await once(first, 'open')
  const closed = once(first, 'close')
  application.sockets[0]?.destroy()
  await closed
  const second = connect(Number(new URL(gateway.url).port), '127.0.0.1')
  second.write(upgrade('/ui/live', 'upgrade: websocket', `x-api-key: ${gateway.key('dev')}`))
  await once(second, 'data')
  const ended = createDeferred()
  application.sockets[1]?.once('end', () => ended.resolve(undefined))
  second.end()
  await ended.promise
})

it('open connections end when the gateway stops', async () => {
  const { gateway } = await startGatewayWithWebSocket()
  const socket = open(gateway.url, { 'x-api-key': gateway.key('dev') })
  await once(socket, 'open')
  const closed = once(socket, 'close')
  const startedAt = performance.now()
  await gateway.stop()
  await closed
  // Active requests would have half a minute.
  expect(performance.now() - startedAt).toBeLessThan(20_000)
})

const upgrade = (target: string, ...more: string[]): string =>
  rawRequest([
    `GET ${target} HTTP/1.1`,
    'host: g',
    'connection: upgrade',
    'sec-websocket-version: 13',
    'sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==',
    ...more,
  ])

it.for([
  ['without a credential', '/ui/live', 'upgrade: websocket', 401],
  ['for another protocol', '/ui/live', 'upgrade: h2c', 400],
  ['for a target with another meaning', '/ui/%2e%2e/live', 'upgrade: websocket', 400],
] as const)('an upgrade %s is refused', async ([what, target, header, status]) => {
  const { gateway, application } = await startGatewayWithWebSocket()
  const credential = what === 'without a credential' ? [] : [`x-api-key: ${gateway.key('dev')}`]
  const text = (await readRaw(gateway.url, upgrade(target, header, ...credential))).toString()
  expect(text).toMatch(new RegExp(`^HTTP/1\\.1 ${status} [^]*"instance"`))
  expect(application.requests).toEqual([])
})

it('a route that does not name WebSocket serves the request as if it named no protocol', async () => {
  const { gateway, application } = await startGatewayWithWebSocket({ webSocket: false })
  const request = upgrade('/ui/live', 'upgrade: websocket', `x-api-key: ${gateway.key('dev')}`)
  const received = readRaw(gateway.url, request.replace('connection: upgrade', 'connection: close, upgrade'))
  expect((await received).toString()).toMatch(/^HTTP\/1\.1 404 /)
  expect(application.requests).toEqual([])
})

it('an upstream that accepts no connection is 502', async () => {
  const { application } = await startGatewayWithWebSocket()
  const { gateway } = await startGatewayWithRoute({ route: { webSocket: true } })
  const request = upgrade('/ui/live', 'upgrade: websocket', `x-api-key: ${gateway.key('dev')}`)
  await eventually(async () =>
    expect((await readRaw(gateway.url, request)).toString()).toMatch(/^HTTP\/1\.1 502 [^]*"instance"/),
  )
  expect(application.requests).toEqual([])
})

/** An unhandled error of the client's connection would end the process. */
async function startGatewayWithNodeParser() {
  const { gateway, application } = await startGatewayWithRoute({
    route: { webSocket: true },
    listen: { parser: 'node' },
  })
  const request = rawRequest(['GET /ui/tables HTTP/1.1', 'host: g', `x-api-key: ${gateway.key('dev')}`])
  return { gateway, application, request, connection: openRawConnection(gateway.url) }
}

it("node's parser: a client resets the connection of an invalid upgrade", async () => {
  const { gateway, connection } = await startGatewayWithNodeParser()
  connection.write(upgrade('ftp://x/', 'upgrade: websocket'))
  await once(connection.socket, 'data')
  connection.socket.resetAndDestroy()
  expect((await readRaw(gateway.url, upgrade('/ui/live', 'upgrade: websocket'))).toString()).toMatch(/ 401 /)
})

it("node's parser: a client resets the connection of an upgrade behind an active request", async () => {
  const { application, request, connection } = await startGatewayWithNodeParser()
  const left = createDeferred()
  application.answering = (_arrival, response) => void response.once('close', () => left.resolve(undefined))
  connection.write(request + upgrade('/ui/live', 'upgrade: websocket'))
  await eventually(() => expect(application.requests).toHaveLength(1))
  connection.socket.resetAndDestroy()
  await left.promise
})
