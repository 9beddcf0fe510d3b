import type { FastifyRequest } from 'fastify'
import type { buildConnector } from 'undici'
import { WebSocket } from 'ws'
import { clientBounds } from '../bounds.ts'

const handshakeTimeout = 10_000
/** Between the two frames that close a WebSocket connection. */
const closeTimeout = 2_000
/** Of a message of WebSocket, which is in memory as a whole. */
const maxPayload = 16 * 1024 * 1024
/** Of messages that one side has not taken yet: the other is not read meanwhile. */
const maxBufferedBytes = 1024 * 1024
const pollMs = 20

/** The client's side of a WebSocket connection. */
class ClientSocket extends WebSocket {
  /** Reasons of internal errors stay here: they may name hosts, and long ones would throw. */
  override close(code?: number, reason?: string | Buffer): void {
    super.close(code, code === 1011 ? undefined : reason)
  }
}

/** The options of @fastify/http-proxy for WebSocket connections to an upstream, opened by `connect`. */
export function createTunnelOptions(
  { protocol, hostname, port }: URL,
  connect: buildConnector.connector,
  rewriteRequestHeaders: (headers: unknown, request: FastifyRequest) => object,
) {
  // The types of the plugin know neither a class nor what rewrites headers.
  const wsServerOptions: object = { WebSocket: ClientSocket, maxPayload, closeTimeout }
  const wsClientOptions: object = {
    createConnection: (_options: unknown, callback: buildConnector.Callback) =>
      connect({ protocol, hostname, port }, callback),
    rewriteRequestHeaders,
    handshakeTimeout,
    maxPayload,
    closeTimeout,
    perMessageDeflate: false,
  }
  return {
    websocket: true as const,
    wsClientOptions,
    wsServerOptions,
    wsHooks: {
      // The plugin closes only a connection that is open.
      onConnect(_: unknown, source: WebSocket, target: WebSocket) {
        if (source.readyState !== WebSocket.OPEN) target.terminate()
      },
      onIncomingMessage: (_: unknown, source: WebSocket, target: WebSocket) => holdBack(source, target),
      onOutgoingMessage: (_: unknown, source: WebSocket, target: WebSocket) => holdBack(target, source),
    },
  }
}

/**
 * Pauses a side while the other one has not taken its messages. If it takes none for the send timeout, its connection ends,
 * and with it the tunnel: memory held for a reader that has left would never be freed.
 */
export function holdBack(from: WebSocket, to: WebSocket, sendTimeoutMs = clientBounds.sendTimeoutMs): void {
  const isBehind = (): boolean =>
    to.readyState === WebSocket.CONNECTING ||
    (to.readyState === WebSocket.OPEN && to.bufferedAmount > maxBufferedBytes)
  if (from.isPaused || !isBehind()) return
  from.pause()
  let buffered = to.bufferedAmount
  let takenAt = performance.now()
  const timer = setInterval(() => {
    if (to.bufferedAmount !== buffered) takenAt = performance.now()
    buffered = to.bufferedAmount
    if (performance.now() - takenAt > sendTimeoutMs) to.terminate()
    if (isBehind()) return
    clearInterval(timer)
    from.resume()
  }, pollMs)
}
