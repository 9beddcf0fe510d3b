import { ClientConnection, type ConnectionOwner } from './client-connection.ts'
import { ownedBy } from '../../lib/index.ts'
import { toTarget } from '../../outbound/index.ts'
import type { OutgoingRequest } from './outgoing-request.ts'
import { RequestController, type ResponseHandler } from './request-controller.ts'
import { TransportError } from './transport-error.ts'

export type Http1Client = ReturnType<typeof createHttp1Client>

const maxTimeoutCheckIntervalMs = 1_000

/** `url` is `http` or `https`; its path is ignored. */
export function createHttp1Client({
  url,
  opener,
  timeouts,
}: { readonly url: URL } & Pick<ConnectionOwner, 'opener' | 'timeouts'>) {
  const connections = new Set<ClientConnection>()
  const idle: ClientConnection[] = []
  const { headersTimeoutMs, bodyTimeoutMs, totalTimeoutMs } = timeouts
  const shortestMs = Math.min(headersTimeoutMs, bodyTimeoutMs, totalTimeoutMs)
  const intervalMs = Math.min(maxTimeoutCheckIntervalMs, Math.ceil(shortestMs / 4))
  let timer: NodeJS.Timeout | undefined
  let isClosed = false

  const owner: ConnectionOwner = {
    host: url.host,
    timeouts,
    opener,
    target: toTarget(url),
    onIdle: (connection) => void idle.push(connection),
    onClose(connection) {
      connections.delete(connection)
      const index = idle.indexOf(connection)
      if (index !== -1) idle.splice(index, 1)
    },
  }

  function checkTimeouts(): void {
    // After a suspension of the process, unread bytes of the upstream are read first.
    setImmediate(() => {
      const now = performance.now()
      for (const connection of connections) ownedBy(connection, () => connection.checkTimeouts(now))()
      timer = connections.size === 0 ? undefined : setTimeout(checkTimeouts, intervalMs).unref()
    })
  }

  function takeIdle(): ClientConnection | undefined {
    const now = performance.now()
    for (;;) {
      const connection = idle.pop()
      if (connection === undefined || connection.isReusable(now)) return connection
      connection.close()
    }
  }

  return {
    /** Uses the idle connection that was used last, or a new one. Connections never outnumber concurrent requests. */
    dispatch(
      request: OutgoingRequest,
      handler: ResponseHandler,
      requiresNewConnection = false,
    ): RequestController {
      const controller = new RequestController(request, handler)
      if (isClosed) {
        handler.onResponseError(new TransportError('CLIENT_CLOSED', 'the client is closed'))
        return controller
      }
      if (requiresNewConnection) idle[0]?.close()
      const connection = requiresNewConnection ? undefined : takeIdle()
      if (connection === undefined) connections.add(new ClientConnection(owner, controller))
      else connection.send(controller)
      timer ??= setTimeout(checkTimeouts, intervalMs).unref()
      return controller
    },
    connectionCount: (): number => [...connections].filter(({ isConnected }) => isConnected).length,
    /** Aborts all requests, and fails those that are dispatched later. */
    close(): void {
      isClosed = true
      clearTimeout(timer)
      for (const connection of connections) connection.close()
    },
  }
}
