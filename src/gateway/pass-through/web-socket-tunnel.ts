import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { CallbackList } from '../../lib/async/callback-list.ts'
import { ClientDisconnected } from '../client-disconnected.ts'
import type { ObservedResponse } from '../downstream.ts'
import { gatewayHeaders, type ResponseContext } from '../gateway-headers.ts'
import type { AdmittedRequest } from './admit-request.ts'
import { createForwardedHeaders, createResponseHeaders } from './forwarded-headers.ts'

const webSocketHeaders: ReadonlySet<string> = new Set([
  'sec-websocket-extensions',
  'sec-websocket-key',
  'sec-websocket-protocol',
  'sec-websocket-version',
])

/** Whether a request asks for WebSocket (RFC 6455, section 4.1), not for another protocol. */
export function isWebSocketRequest({ method, headers }: IncomingMessage): boolean {
  return method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket'
}

/**
 * A WebSocket connection through the gateway. Its bytes pass unread, with the backpressure of TCP, which the relay of
 * messages in @fastify/http-proxy does not have.
 */
export class WebSocketTunnel implements ObservedResponse {
  status = 0
  isComplete = false
  /** Called when the connection of the client is closed. */
  readonly onClose = new CallbackList()
  readonly #request: IncomingMessage
  readonly #bytesWrittenBefore: number
  readonly #client = new AbortController()

  constructor(request: IncomingMessage) {
    this.#request = request
    this.#bytesWrittenBefore = request.socket.bytesWritten
    request.socket.once('close', () => {
      this.#client.abort()
      this.onClose.call()
    })
  }

  get isDestroyed(): boolean {
    return this.#request.socket.destroyed
  }

  get hasHead(): boolean {
    return this.status !== 0
  }

  /** Includes earlier requests of the connection. */
  get bytesReceived(): number {
    return this.#request.socket.bytesRead
  }

  get bytesSent(): number {
    return this.#request.socket.bytesWritten - this.#bytesWrittenBefore
  }

  /** Connects to the upstream, and resolves when both sides have ended. `received` are bytes behind the request. */
  async run(
    { head, passThroughRoute: route, upstreamPath, releaseSlot }: AdmittedRequest,
    received: Buffer,
    context: ResponseContext,
  ): Promise<void> {
    const headers = createForwardedHeaders(head, route.settings)
    for (let index = 0; index < head.headers.length; index += 2) {
      const name = head.headers[index] ?? ''
      if (webSocketHeaders.has(name)) headers[name] = head.headers[index + 1] ?? ''
    }
    const path = upstreamPath + readQuery(head.target)
    const { signal } = this.#client
    const upgraded = await route.pool.upgrade({ path, method: 'GET', headers, protocol: 'websocket', signal })
    // Its connection no longer belongs to the pool.
    releaseSlot()
    const { socket } = this.#request
    if (socket.destroyed) {
      upgraded.socket.destroy()
      throw new ClientDisconnected('the client closed the connection')
    }
    const sent = createResponseHeaders(upgraded.headers, route, new URL(upstreamPath, route.origin))
    sent.push('connection', 'upgrade', 'upgrade', 'websocket', ...gatewayHeaders(context))
    const lines = sent.map((text, index) => (index % 2 === 0 ? `${text}: ` : `${text}\r\n`))
    this.status = 101
    socket.write(`HTTP/1.1 101 Switching Protocols\r\n${lines.join('')}\r\n`, 'latin1')
    if (received.length > 0) upgraded.socket.write(received)
    this.isComplete = await relay(socket, upgraded.socket)
  }
}

/**
 * Relays bytes in both directions until both sides are closed. Either side that ends closes the other, because WebSocket
 * has no half-closed connections. Resolves with whether a side ended in order.
 */
function relay(client: Duplex, upstream: Duplex): Promise<boolean> {
  return new Promise((resolve) => {
    let hasEnded = false
    const connect = (from: Duplex, to: Duplex): void => {
      from.pipe(to, { end: false })
      from
        .on('error', () => undefined)
        .once('end', () => {
          hasEnded = true
          to.end(() => to.destroy())
        })
        .once('close', () => {
          if (to.destroyed) resolve(hasEnded)
          else to.end(() => to.destroy())
        })
    }
    connect(client, upstream)
    connect(upstream, client)
  })
}

function readQuery(target: string): string {
  const mark = target.indexOf('?')
  return mark === -1 ? '' : target.slice(mark)
}
