import {
  ClientConnection,
  idleTimeout,
  type ClientTimeouts,
  type ConnectionOwner,
} from './client-connection.ts'
import { createConnector, type ConnectorOptions } from './connector.ts'
import type { OutgoingRequest } from './outgoing-request.ts'
import { RequestController, type ResponseHandler } from './request-controller.ts'
import { TransportError } from './transport-error.ts'

/** An HTTP/1.1 client for one upstream. */
export interface Http1Client {
  /**
   * Sends a request over the idle connection that was used last, or over a new one; always over a new one if `isFresh`.
   * There are never more connections than there were concurrent requests.
   */
  dispatch(request: OutgoingRequest, handler: ResponseHandler, isFresh?: boolean): RequestController
  connectionCount(): number
  /** Aborts all requests, and fails those that are dispatched later. */
  close(): void
}

export interface Http1ClientOptions extends ConnectorOptions {
  readonly timeouts: ClientTimeouts
}

const minTimeoutCheckIntervalMs = 10
const maxTimeoutCheckIntervalMs = 1_000

/** Creates a client. Connections are opened on demand. */
export function createHttp1Client(options: Http1ClientOptions): Http1Client {
  const { url, timeouts } = options
  const connector = createConnector(options)
  const all = new Set<ClientConnection>()
  const idle: ClientConnection[] = []
  const shortestMs = Math.min(timeouts.headersTimeoutMs, timeouts.bodyTimeoutMs, timeouts.totalTimeoutMs)
  const intervalMs = Math.max(minTimeoutCheckIntervalMs, Math.min(maxTimeoutCheckIntervalMs, shortestMs / 4))
  let timer: NodeJS.Timeout | undefined
  let isClosed = false

  const owner: ConnectionOwner = {
    host: url.host,
    timeouts,
    onIdle: (connection) => void idle.push(connection),
    onClose(connection) {
      all.delete(connection)
      const index = idle.indexOf(connection)
      if (index !== -1) idle.splice(index, 1)
    },
  }

  function checkTimeouts(): void {
    // After a suspension of the process, unread bytes of the upstream are read first.
    setImmediate(() => {
      const now = performance.now()
      for (const connection of all) connection.checkTimeouts(now)
      timer = all.size === 0 ? undefined : setTimeout(checkTimeouts, intervalMs).unref()
    })
  }

  function takeIdle(): ClientConnection | undefined {
    const now = performance.now()
    for (;;) {
      const connection = idle.pop()
      if (connection === undefined || connection.isReusable(now)) return connection
      connection.close(idleTimeout())
    }
  }

  return {
    dispatch(request, handler, isFresh = false) {
      const controller = new RequestController(request, handler)
      if (isClosed) {
        handler.onResponseError(new TransportError('CLIENT_CLOSED', 'the client is closed'))
        return controller
      }
      if (isFresh) idle[0]?.close(new TransportError('CLIENT_CLOSED', 'replaced by a new connection'))
      const connection = isFresh ? undefined : takeIdle()
      if (connection === undefined) all.add(new ClientConnection(connector, owner, controller))
      else connection.send(controller)
      timer ??= setTimeout(checkTimeouts, intervalMs).unref()
      return controller
    },
    connectionCount: () => [...all].filter(({ isConnected }) => isConnected).length,
    close() {
      isClosed = true
      clearTimeout(timer)
      for (const connection of all)
        connection.close(new TransportError('CLIENT_CLOSED', 'the client is closed'))
    },
  }
}
