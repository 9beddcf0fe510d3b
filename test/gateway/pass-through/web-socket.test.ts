import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { connect, type AddressInfo, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, it, onTestFinished } from 'vitest'
import { WebSocket, type CloseEvent } from 'undici'
import { startGatewayWithRevocableKey, startGatewayWithRoute } from '../support/pass-through-gateway.ts'
import { openRawConnection } from '../support/raw-connection.ts'
import { readRaw, rawRequest } from '../support/raw-request.ts'
import { createDeferred } from '../support/waiting.ts'
import { eventually } from '../../support/eventually.ts'

interface EchoServer {
  readonly url: string
  readonly requests: IncomingMessage[]
  readonly sockets: Socket[]
  /** Connections are accepted when it is resolved. */
  delay: Promise<unknown>
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
  const application = { url: '', requests, sockets, delay: Promise.resolve<unknown>(undefined) }
  const server = createServer((_, response) => response.writeHead(404).end())
  const accept = async (request: IncomingMessage, socket: Socket): Promise<void> => {
    requests.push(request)
    sockets.push(socket.on('error', () => undefined))
    await application.delay
    const key = `${request.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`
    const hash = createHash('sha1').update(key).digest('base64')
    const head = ['HTTP/1.1 101 Switching Protocols', 'upgrade: websocket', 'connection: upgrade']
    socket.write(rawRequest([...head, `sec-websocket-accept: ${hash}`]))
    socket.on('data', (frame: Buffer) => socket.write(echo(frame)))
  }
  server.on('upgrade', (request: IncomingMessage, socket: Socket) => void accept(request, socket))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return Object.assign(application, { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` })
}

const methods = ['GET', 'WEBSOCKET']

async function startGatewayWithWebSocket(route: object = {}) {
  const application = await startEchoServer()
  const upstream = `${application.url}/console`
  const { gateway, port } = await startGatewayWithRoute({ route: { upstream, methods, ...route } })
  return { gateway, url: port.url, application }
}

function open(url: string, headers: Record<string, string>): WebSocket {
  return new WebSocket(`${url.replace('http:', 'ws:')}/ui/live?a=1`, { headers })
}

it('messages pass in both directions, and the connection is audited', async () => {
  const { gateway, url, application } = await startGatewayWithWebSocket()
  const socket = open(url, { 'x-api-key': gateway.key('dev') })
  await once(socket, 'open')
  socket.send('hello')
  const [message] = (await once(socket, 'message')) as [MessageEvent]
  expect(message.data).toBe('hello')
  expect(application.requests[0]).toMatchObject({ url: '/console/live?a=1', method: 'GET' })
  expect(application.requests[0]?.headers).not.toHaveProperty('x-api-key')
  socket.close()
  const records = await gateway.recorded('passThrough')
  expect(records).toMatchObject([{ upgrade: 'websocket', path: '/console/live', principal: { name: 'dev' } }])
})

it('a connection that the upstream closes is closed, and the other way round', async () => {
  const { gateway, url, application } = await startGatewayWithWebSocket()
  const first = open(url, { 'x-api-key': gateway.key('dev') })
  await once(first, 'open')
  const closed = once(first, 'close')
  await eventually(() => expect(application.sockets).toHaveLength(1))
  application.sockets[0]?.destroy()
  await closed
  const second = connect(Number(new URL(url).port), '127.0.0.1')
  second.write(upgrade('/ui/live', 'upgrade: websocket', `x-api-key: ${gateway.key('dev')}`))
  await once(second, 'data')
  await eventually(() => expect(application.sockets).toHaveLength(2))
  const ended = createDeferred()
  application.sockets[1]?.once('end', () => ended.resolve(undefined))
  second.end()
  await ended.promise
})

it('a connection ends if the key of its caller is revoked', async () => {
  const { url } = await startEchoServer()
  const { gateway, port, revoke } = await startGatewayWithRevocableKey({ upstream: url, methods })
  const socket = open(port.url, { 'x-api-key': gateway.key('al') })
  await once(socket, 'open')
  await Promise.all([once(socket, 'close'), revoke()])
})

it('open connections end when the gateway stops', async () => {
  const { gateway, url } = await startGatewayWithWebSocket()
  const socket = open(url, { 'x-api-key': gateway.key('dev') })
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
  ['for a target with another meaning', '/ui/%2e%2e/live', 'upgrade: websocket', 400],
] as const)('an upgrade %s is refused', async ([what, target, header, status]) => {
  const { gateway, url, application } = await startGatewayWithWebSocket()
  const credential = what === 'without a credential' ? [] : [`x-api-key: ${gateway.key('dev')}`]
  const text = (await readRaw(url, upgrade(target, header, ...credential))).toString()
  expect(text).toMatch(new RegExp(`^HTTP/1\\.1 ${status} [^]*"instance"`))
  expect(application.requests).toEqual([])
})

const ignoresUpgrades = Number.parseInt(process.versions.node, 10) >= 24

it.skipIf(!ignoresUpgrades)('an upgrade to another protocol is ignored', async () => {
  const { gateway, url, application } = await startGatewayWithWebSocket()
  const sent = upgrade('/ui/live', 'upgrade: h2c', `x-api-key: ${gateway.key('dev')}`)
  // What the application says to a call.
  const text = (
    await readRaw(url, sent.replace('connection: upgrade', 'connection: upgrade, close'))
  ).toString()
  expect(text).toMatch(/^HTTP\/1\.1 404 /)
  expect(application.requests).toEqual([])
})

it('a route that does not name WEBSOCKET allows no connection', async () => {
  const { gateway, url, application } = await startGatewayWithWebSocket({ methods: ['GET'] })
  const request = upgrade('/ui/live', 'upgrade: websocket', `x-api-key: ${gateway.key('dev')}`)
  const received = readRaw(url, request.replace('connection: upgrade', 'connection: close, upgrade'))
  expect((await received).toString()).toMatch(/^HTTP\/1\.1 400 [^]*allows no WebSocket/)
  expect(application.requests).toEqual([])
})

it('an upstream that accepts no connection closes that of the client, which is not told why', async () => {
  const { gateway, port, application } = await startGatewayWithRoute({ route: { methods } })
  const key = { 'x-api-key': gateway.key('dev') }
  const refused = (await once(open(port.url, key), 'close')) as [CloseEvent]
  expect(refused[0]).toMatchObject({ code: 1011, reason: '' })
  await application.close()
  const unreachable = (await once(open(port.url, key), 'close')) as [CloseEvent]
  expect(unreachable[0]).toMatchObject({ code: 1011, reason: '' })
})

it('a client that resets its connection while it is authenticated does not matter', async () => {
  const { gateway, url, application } = await startGatewayWithWebSocket()
  const request = upgrade('/ui/live', 'upgrade: websocket', `x-api-key: ${gateway.key('dev')}`)
  for (let sent = 0; sent < 20; sent += 1) {
    const { socket } = openRawConnection(url)
    socket.on('error', () => undefined).write(request, () => socket.resetAndDestroy())
    await once(socket, 'close')
  }
  const opened = open(url, { 'x-api-key': gateway.key('dev') })
  await once(opened, 'open')
  opened.close()
  await eventually(() => expect(application.sockets.every(({ readableEnded }) => readableEnded)).toBe(true))
})

it('a client that leaves before the upstream has accepted leaves no connection behind', async () => {
  const { gateway, url, application } = await startGatewayWithWebSocket()
  const accepts = createDeferred()
  application.delay = accepts.promise
  const { socket } = openRawConnection(url)
  socket.write(upgrade('/ui/live', 'upgrade: websocket', `x-api-key: ${gateway.key('dev')}`))
  await eventually(() => expect(application.sockets).toHaveLength(1))
  socket.destroy()
  await pause(50)
  accepts.resolve(undefined)
  await eventually(() => expect(application.sockets[0]?.readableEnded).toBe(true))
})

/** A masked frame of this much binary data (RFC 6455, section 5.2). */
function frame(bytes: number): Buffer {
  const head = Buffer.from([0x82, 0xff, ...Buffer.alloc(12)])
  head.writeBigUInt64BE(BigInt(bytes), 2)
  return Buffer.concat([head, Buffer.alloc(bytes)])
}

it('a side that reads nothing holds back the other one', async () => {
  const { gateway, url, application } = await startGatewayWithWebSocket()
  const { socket } = openRawConnection(url)
  socket.write(upgrade('/ui/live', 'upgrade: websocket', `x-api-key: ${gateway.key('dev')}`))
  await once(socket, 'data')
  await eventually(() => expect(application.sockets).toHaveLength(1))
  application.sockets[0]?.removeAllListeners('data').pause()
  let [taken, isHeld] = [0, false]
  for (; taken < 64 && !isHeld; taken += 1) {
    const written = new Promise((resolve) => socket.write(frame(1024 * 1024), resolve))
    isHeld = await Promise.race([written.then(() => false), pause(2_000, true)])
  }
  expect(isHeld).toBe(true)
  socket.destroy()
})

it('a message that is too large closes the connection', async () => {
  const { gateway, url } = await startGatewayWithWebSocket()
  const opened = open(url, { 'x-api-key': gateway.key('dev') })
  await once(opened, 'open')
  opened.send(new Uint8Array(17 * 1024 * 1024))
  const [closed] = (await once(opened, 'close')) as [CloseEvent]
  expect(closed.code).toBe(1009)
})
