import { defaultDelimiter, type Identifier } from '../../interface/identifiers.ts'
import { lancedbDatabaseHeader, lancedbPrefixHeader } from '../../interface/headers.ts'
import { allowedRequestHeaders, allowedResponseHeaders } from './allowed-headers.ts'
import type { CallerHeaders, CallerIdentity } from './caller-headers.ts'
import { createBreaker, type Breaker, type BreakerSettings } from './breaker.ts'
import { createPlaces, type Places } from './places.ts'
import { createRetryBudget, type RetryBudget, type RetrySettings } from './retry-budget.ts'
import { createUpstreamClient, type UpstreamClient } from './client/upstream-client.ts'
import { watchHealth, type Health } from './upstream-health.ts'

/** How to reach a catalog behind the gateway, and what it may be told. */
export interface UpstreamOptions {
  /** A name for logs, metrics and audit records. */
  readonly name: string
  /** `http` or `https`, with an optional path that goes in front of every route. */
  readonly url: string
  /** What joins the parts of an id there. */
  readonly delimiter?: string | undefined
  /** The namespaces that lie there; undefined for the upstream that serves everything else. */
  readonly namespaces?: readonly Identifier[] | undefined
  /** Header name and value in turn: what authenticates the gateway to the upstream. */
  readonly credentials: readonly string[]
  /** What the upstream learns of the caller; nothing unless told. */
  readonly identity?: CallerIdentity
  /** The headers that tell it. */
  readonly callerHeaders?: CallerHeaders
  /** The database of a LanceDB server, and its prefix: `sales/eu`. */
  readonly database?: string | undefined
  /** In lower case: what passes besides the headers of the interface. */
  readonly allowedRequestHeaders?: readonly string[]
  readonly allowedResponseHeaders?: readonly string[]
  /** PEM texts, and the name to verify. The certificate of the upstream is always verified. */
  readonly tls: {
    readonly ca?: string | undefined
    readonly cert?: string | undefined
    readonly key?: string | undefined
    readonly servername?: string | undefined
  }
  readonly maximumConnections: number
  readonly maximumWaiting: number
  /** In milliseconds; what each is for stands with the settings. */
  readonly timeouts: {
    readonly waitMs: number
    readonly connectMs: number
    readonly answerMs: number
    readonly idleMs: number
    readonly takeMs: number
    readonly totalMs: number
  }
  readonly health: {
    readonly path?: string | undefined
    readonly intervalMs: number
    readonly timeoutMs: number
  }
  readonly breaker: BreakerSettings
  readonly retries: RetrySettings
}

/** A catalog behind the gateway, with its connections and what is known of how it is. */
export interface Upstream {
  readonly name: string
  readonly origin: string
  /** What goes in front of each path. */
  readonly basePath: string
  /** What joins the parts of an id there. */
  readonly delimiter: string
  readonly namespaces: readonly Identifier[] | undefined
  /** Header names and values in turn: the credential of the gateway, and the database. Every request has them. */
  readonly ownHeaders: readonly string[]
  readonly database: string | undefined
  /** The headers of callers that it gets, besides those of `dialects`. */
  readonly requestHeaders: ReadonlySet<string>
  /** The headers of its responses that callers get. */
  readonly responseHeaders: ReadonlySet<string>
  readonly callerHeaders: CallerHeaders
  /** Whether it judges the credentials of callers itself. */
  readonly forwardsCredential: boolean
  readonly timeouts: UpstreamOptions['timeouts']
  readonly retries: RetrySettings
  /** Whoever sends through it has a place, so that there are no more connections than places. */
  readonly client: UpstreamClient
  readonly maximumConnections: number
  readonly places: Places
  readonly breaker: Breaker
  readonly retryBudget: RetryBudget
  readonly health: Health
  /** Breaks off what is under way. */
  close(): void
}

/** Makes the client, and begins to watch the health of the upstream. A request need not wait for either. */
export function openUpstream(options: UpstreamOptions): Upstream {
  const url = new URL(options.url)
  const { name, database, timeouts } = options
  const ownHeaders = [...options.credentials, ...databaseHeaders(database)]
  const basePath = url.pathname.replace(/\/$/, '')
  const delimiter = options.delimiter ?? defaultDelimiter
  const client = createUpstreamClient({ url, tls: options.tls, timeouts })
  const breaker = createBreaker(options.breaker)
  const health = watchHealth({
    ...options.health,
    url,
    tls: options.tls,
    connectMs: timeouts.connectMs,
    basePath,
    delimiter,
    headers: ownHeaders,
    onUnhealthy: () => breaker.trip(),
  })
  return {
    name,
    origin: url.origin,
    basePath,
    delimiter,
    namespaces: options.namespaces,
    ownHeaders,
    database,
    requestHeaders: new Set([...allowedRequestHeaders, ...(options.allowedRequestHeaders ?? [])]),
    responseHeaders: new Set([...allowedResponseHeaders, ...(options.allowedResponseHeaders ?? [])]),
    callerHeaders: options.callerHeaders ?? (() => []),
    forwardsCredential: options.identity === 'original',
    timeouts,
    retries: options.retries,
    client,
    maximumConnections: options.maximumConnections,
    places: createPlaces({ ...options, waitMs: timeouts.waitMs }),
    breaker,
    retryBudget: createRetryBudget(options.retries),
    health,
    close() {
      health.close()
      client.close()
    },
  }
}

function databaseHeaders(database: string | undefined): string[] {
  if (database === undefined) return []
  const slash = database.indexOf('/')
  if (slash === -1) return [lancedbDatabaseHeader, database]
  return [lancedbDatabaseHeader, database.slice(0, slash), lancedbPrefixHeader, database.slice(slash + 1)]
}
