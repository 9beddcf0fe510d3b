import { Connection, type Owner, type Patience } from './connection.ts'
import { connectorOf, type ConnectorOptions } from './connector.ts'
import { Exchange, type AnswerHandler } from './exchange-control.ts'
import type { OutgoingRequest } from './request-head.ts'
import { TransportError } from './transport-error.ts'

/** A client of HTTP/1.1 for one upstream. */
export interface UpstreamClient {
  /**
   * Sends a request over a connection that is idle, the one used last before others, or over a new one: always where
   * `isFresh`. Never more connections are open than the most exchanges that were ever under way at a time.
   */
  send(request: OutgoingRequest, handler: AnswerHandler, isFresh?: boolean): Exchange
  /** How many connections are open. */
  connections(): number
  /** Breaks off what is under way, and takes no more. */
  close(): void
}

/** Where an upstream is, and how patient one is with it. */
export interface UpstreamClientOptions extends ConnectorOptions {
  readonly timeouts: Patience
}

const shortestLookMs = 10
const longestLookMs = 1_000

/** Opens no connection before a request needs one. */
export function createUpstreamClient(options: UpstreamClientOptions): UpstreamClient {
  const { url, timeouts } = options
  const connector = connectorOf(options)
  const all = new Set<Connection>()
  const idle: Connection[] = []
  const lookMs =
    Math.min(timeouts.responseHeadersTimeoutMs, timeouts.responseBodyTimeoutMs, timeouts.totalTimeoutMs) / 4
  const looksEveryMs = Math.max(shortestLookMs, Math.min(longestLookMs, lookMs))
  let looking: NodeJS.Timeout | undefined
  let isClosed = false

  const owner: Owner = {
    host: url.host,
    patience: timeouts,
    freed: (connection) => void idle.push(connection),
    lost(connection) {
      all.delete(connection)
      const index = idle.indexOf(connection)
      if (index !== -1) idle.splice(index, 1)
    },
  }

  function look(): void {
    // After a pause of this process the bytes of the upstream may lie there unread: they are read first.
    setImmediate(() => {
      const now = performance.now()
      for (const connection of all) connection.checkPatience(now)
      looking = all.size === 0 ? undefined : setTimeout(look, looksEveryMs).unref()
    })
  }

  function takeIdle(): Connection | undefined {
    const now = performance.now()
    for (;;) {
      const connection = idle.pop()
      if (connection === undefined || now < connection.idleUntil) return connection
      connection.close(new TransportError('CLOSED', 'the connection was idle'))
    }
  }

  return {
    send(request, handler, isFresh = false) {
      const exchange = new Exchange(request, handler)
      if (isClosed) {
        handler.failed(new TransportError('CLOSED', 'the gateway is shutting down'))
        return exchange
      }
      if (isFresh) idle[0]?.close(new TransportError('CLOSED', 'a fresh connection takes its place'))
      const connection = isFresh ? undefined : takeIdle()
      if (connection === undefined) all.add(new Connection(connector, owner, exchange))
      else connection.carry(exchange)
      looking ??= setTimeout(look, looksEveryMs).unref()
      return exchange
    },
    connections: () => [...all].filter(({ isConnected }) => isConnected).length,
    close() {
      isClosed = true
      clearTimeout(looking)
      for (const connection of all)
        connection.close(new TransportError('CLOSED', 'the gateway is shutting down'))
    },
  }
}
