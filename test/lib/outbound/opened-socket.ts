import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { onTestFinished } from 'vitest'
import { readOnce, fixed } from '../../../src/lib/fs/follow-files.ts'
import type { OutboundTarget } from '../../../src/outbound/proxies.ts'
import { openOutbound, type OutboundSettings } from '../../../src/outbound/outbound.ts'
import { createSocketOpener, openWithin } from '../../../src/outbound/socket-opener.ts'
import type { TlsMaterial } from '../../../src/lib/tls/certificates.ts'

interface OpenOptions {
  readonly outbound?: OutboundSettings
  readonly environment?: Record<string, string>
  readonly material?: TlsMaterial
  readonly timeoutMs?: number
}

/** Opens a connection like a client of the gateway. Rejects with the error of the opener. */
export async function openSocket(target: OutboundTarget, options: OpenOptions = {}): Promise<Socket> {
  const { outbound = {}, environment = {}, material = {}, timeoutMs = 20_000 } = options
  const opened = await openOutbound(outbound, environment, readOnce)
  const opener = createSocketOpener(opened, fixed(material))
  return new Promise((resolve, reject) => {
    openWithin(opener, timeoutMs, target, (error, socket) => {
      if (error !== null) return reject(error)
      onTestFinished(() => void socket.destroy())
      resolve(socket)
    })
  })
}

/** Sends a line to a server that sends back what it receives. */
export async function exchange(socket: Socket, line: string): Promise<string> {
  socket.write(line)
  let received = ''
  for await (const chunk of socket) {
    received += String(chunk)
    if (received.length >= line.length) break
  }
  return received
}

/** Starts a server that sends back what it receives, with TLS if it has a certificate; returns its port. */
export async function startEchoServer(tls?: {
  readonly cert: string
  readonly key: string
}): Promise<number> {
  const sockets = new Set<Socket>()
  const server = tls ? createTlsServer(tls, echo) : createServer(echo)
  server.on('connection', (socket: Socket) => sockets.add(socket.on('error', () => undefined)))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy()
    await once(server.close(), 'close')
  })
  const { port } = server.address() as AddressInfo
  return port
}

function echo(socket: Socket): void {
  socket.on('error', () => undefined).pipe(socket)
}
