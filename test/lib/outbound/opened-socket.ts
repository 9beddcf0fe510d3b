import { createServer, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { onTestFinished } from 'vitest'
import { readOnce, fixed } from '../../../src/lib/fs/follow-files.ts'
import type { OutboundTarget } from '../../../src/outbound/proxies.ts'
import { openOutbound, type OutboundSettings } from '../../../src/outbound/outbound.ts'
import { createSocketOpener } from '../../../src/outbound/socket-opener.ts'
import type { TlsMaterial } from '../../../src/lib/tls/certificates.ts'
import { listenLocally } from '../../support/local-server.ts'

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
    opener.open(target, timeoutMs, (error, socket) => {
      if (error !== null) return reject(error)
      onTestFinished(() => void socket.destroy())
      resolve(socket)
    })
  })
}

/** Sends a line to an echo server. */
export async function echoLine(socket: Socket, line: string): Promise<string> {
  socket.write(line)
  let received = ''
  for await (const chunk of socket) {
    received += String(chunk)
    if (received.length >= line.length) break
  }
  return received
}

/** Starts an echo server, with TLS if it has a certificate; returns its port. */
export function startEchoServer(tls?: { readonly cert: string; readonly key: string }): Promise<number> {
  return listenLocally(tls ? createTlsServer(tls, echo) : createServer(echo))
}

function echo(socket: Socket): void {
  socket.on('error', () => undefined).pipe(socket)
}
