import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import type { ConnectionHandler } from '../http1/server/connection-handler.ts'
import type { ConnectionTimeouts } from '../http1/server/connection-state.ts'
import type { RequestScheduler } from '../http1/server/request-queue.ts'
import type { ConnectionServer } from '../http1/server/served-connection.ts'
import { createHttp1Connections } from '../node-http/http1-connections.ts'
import { createHttp2Connections } from '../node-http/http2-connections.ts'
import type { NodeRequestHandler } from '../node-http/node-requests.ts'
import type { ListenerHandler } from './listener-handler.ts'

/** Chooses between the own server of HTTP/1.1 and those of node. */
export interface OtherServers extends Pick<ConnectionHandler, 'findServerByStart'> {
  /** The server of a connection that was accepted, after its TLS handshake. */
  findAcceptedServer(socket: Socket): ConnectionServer | 'own'
}

export interface OtherServersOptions {
  readonly maxHeadBytes: number
  /** Over HTTP/2. */
  readonly maxHeaderCount: number
  readonly timeouts: ConnectionTimeouts
  readonly scheduler: RequestScheduler
  /** Whether connections for which ALPN has chosen it get HTTP/2. */
  readonly http2: boolean
  /** Whether connections that begin with the preface of HTTP/2 get it (RFC 9113, section 3.3); never those with TLS. */
  readonly h2c: boolean
  /** Of HTTP/1.1: that of http1/, or node's. */
  readonly parser: 'own' | 'node'
}

export function createOtherServers(
  { maxHeadBytes, maxHeaderCount, timeouts, scheduler, http2, h2c, parser }: OtherServersOptions,
  { onRequest, onConnectionError, errorResponse, refuseConnect }: ListenerHandler,
): OtherServers {
  const handler: NodeRequestHandler = {
    scheduler,
    maxHeadBytes,
    sendTimeoutMs: timeouts.sendTimeoutMs,
    onRequest,
    onConnectionError,
    errorResponse,
  }
  const options = { maxHeadBytes, maxHeaderCount, timeouts }
  const http2Server = http2 || h2c ? createHttp2Connections(options, handler) : undefined
  const http1Server =
    parser === 'node' ? createHttp1Connections(options, { ...handler, refuseConnect }) : 'own'
  return {
    findAcceptedServer(socket) {
      if (socket instanceof TLSSocket)
        return socket.alpnProtocol === 'h2' && http2Server !== undefined ? http2Server : http1Server
      // It reads the preface.
      return h2c ? 'own' : http1Server
    },
    findServerByStart: h2c
      ? (start) => {
          const isPreface = beginsWithPreface(start)
          if (isPreface === undefined) return undefined
          return isPreface ? http2Server : http1Server
        }
      : undefined,
  }
}

/** First bytes of a client of HTTP/2 (RFC 9113, section 3.4). */
const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')

/** Undefined if the bytes are too few to tell. */
function beginsWithPreface(start: Buffer): boolean | undefined {
  const length = Math.min(preface.length, start.length)
  if (!start.subarray(0, length).equals(preface.subarray(0, length))) return false
  return length === preface.length ? true : undefined
}
