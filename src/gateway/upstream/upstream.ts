import { defaultDelimiter, type Identifier, type QuotesInNames } from '../../catalog-api/identifiers.ts'
import type { ExtraOperationDeclaration } from '../../catalog-api/extra-operation.ts'
import { lancedbDatabaseHeader, lancedbPrefixHeader, type HeaderDialect } from '../../catalog-api/headers.ts'
import {
  allowedRequestHeaders,
  allowedResponseHeaders,
} from '../../config/upstream/allowed-headers-settings.ts'
import { getBasePath } from '../../lib/http/base-path.ts'
import type { PoolName } from './connection-slots.ts'
import type { CallerHeaders } from './caller-headers.ts'
import type { CallerIdentity } from '../../config/upstream/caller-identity.ts'
import { CircuitBreaker, type CircuitBreakerSettings } from './circuit-breaker.ts'
import { createConnectionSlots, type ConnectionSlots } from './connection-slots.ts'
import { createRetryBudget, type RetryBudget, type RetrySettings } from './retry-budget.ts'
import { createHttp1Client, type Http1Client } from '../../http1/client/http1-client.ts'
import { startHealthChecker, type HealthChecker } from './health-checker.ts'
import { createTransitionReporter, type UpstreamObserver } from './upstream-observer.ts'

export interface UpstreamOptions {
  /** Name for logs, metrics and audit records. */
  readonly name: string
  /** `http` or `https`, with an optional path that is prepended to every route. */
  readonly url: string
  /** Joins the parts of an id. */
  readonly delimiter?: string | undefined
  /** Characters that no part of an id may contain besides the delimiter. */
  readonly reservedInNames: readonly string[]
  readonly quotesInNames: QuotesInNames
  /** Names of the catalog headers that it receives. */
  readonly headerDialect: HeaderDialect
  /** Namespaces of the upstream; undefined for the upstream that serves everything else. */
  readonly namespaces?: readonly Identifier[] | undefined
  /** Credential of the gateway: header names and values in turn. */
  readonly credentials: readonly string[]
  /** What the upstream receives about the caller; nothing by default. */
  readonly identity?: CallerIdentity
  /** The headers that carry it. */
  readonly callerHeaders?: CallerHeaders
  /** Database of a LanceDB server and its prefix: `sales/eu`. */
  readonly database?: string | undefined
  /** Lower-case names of headers that are forwarded besides those of the interface. */
  readonly allowedRequestHeaders?: readonly string[]
  readonly allowedQueryParameters?: readonly string[]
  /** Operations of this upstream that the catalog API does not have. */
  readonly extraOperations?: readonly ExtraOperationDeclaration[]
  readonly allowedResponseHeaders?: readonly string[]
  /** PEM texts, and the name to verify. The certificate of the upstream is always verified. */
  readonly tls: {
    readonly ca?: string | undefined
    readonly cert?: string | undefined
    readonly key?: string | undefined
    readonly servername?: string | undefined
  }
  readonly maxConnections: number
  readonly maxBulkConnections: number
  readonly maxPendingRequests: number
  /** In milliseconds; see the settings. */
  readonly timeouts: {
    readonly queueTimeoutMs: number
    readonly connectTimeoutMs: number
    readonly responseHeadersTimeoutMs: number
    readonly responseBodyTimeoutMs: number
    readonly sendTimeoutMs: number
    readonly totalTimeoutMs: number
  }
  readonly healthCheck: {
    readonly path?: string | undefined
    readonly intervalMs: number
    readonly timeoutMs: number
  }
  readonly circuitBreaker: CircuitBreakerSettings
  readonly retries: RetrySettings
}

/** A catalog behind the gateway, with its connections and what is known of how it is. */
export interface Upstream {
  readonly name: string
  readonly origin: string
  /** Prepended to each path. */
  readonly basePath: string
  /** Joins the parts of an id. */
  readonly delimiter: string
  /** The delimiter, and other characters at which the catalog may split ids. */
  readonly separators: readonly string[]
  readonly quotesInNames: QuotesInNames
  /** Names of the catalog headers that it receives. */
  readonly headerDialect: HeaderDialect
  readonly namespaces: readonly Identifier[] | undefined
  /** Headers of every request, the credential of the gateway and the database: names and values in turn. */
  readonly fixedHeaders: readonly string[]
  readonly database: string | undefined
  /** Headers of callers that are forwarded, besides those of `dialects`. */
  readonly allowedRequestHeaders: ReadonlySet<string>
  /** Headers of responses that are forwarded to callers. */
  readonly allowedResponseHeaders: ReadonlySet<string>
  /** Query parameters of callers that are forwarded, besides those of the catalog API. */
  readonly allowedQueryParameters: ReadonlySet<string>
  /** Names of its operations that the catalog API does not have. */
  readonly extraOperations: ReadonlySet<string>
  readonly callerHeaders: CallerHeaders
  /** Whether it authenticates callers itself. */
  readonly forwardsCredential: boolean
  readonly timeouts: UpstreamOptions['timeouts']
  readonly retries: RetrySettings
  /** Every request holds a slot, so there are no more connections than slots. */
  readonly client: Http1Client
  readonly slots: Readonly<Record<PoolName, ConnectionSlots>>
  readonly breaker: CircuitBreaker
  readonly retryBudget: RetryBudget
  readonly health: HealthChecker
  /** Aborts active requests. */
  close(): void
}

/** Creates the client and starts health checks. Requests need not wait for either. */
export function createUpstream(options: UpstreamOptions, observer?: UpstreamObserver): Upstream {
  const url = new URL(options.url)
  const { name, database, timeouts } = options
  const fixedHeaders = listFixedHeaders(options)
  const basePath = getBasePath(url)
  const delimiter = options.delimiter ?? defaultDelimiter
  const client = createHttp1Client({
    url,
    tls: options.tls,
    timeouts: {
      connectTimeoutMs: timeouts.connectTimeoutMs,
      headersTimeoutMs: timeouts.responseHeadersTimeoutMs,
      bodyTimeoutMs: timeouts.responseBodyTimeoutMs,
      totalTimeoutMs: timeouts.totalTimeoutMs,
    },
  })
  const breaker = new CircuitBreaker(options.circuitBreaker, () => health.checkNow())
  const reportTransitions = observer && createTransitionReporter(name, observer)
  const health = startHealthChecker({
    ...options.healthCheck,
    url,
    tls: options.tls,
    connectTimeoutMs: timeouts.connectTimeoutMs,
    basePath,
    delimiter,
    headers: fixedHeaders,
    hasCredential: options.credentials.length > 0,
    failingIntervalMs: options.circuitBreaker.probeIntervalMs,
    onResult: (problem) => {
      breaker.recordProbe(problem === undefined)
      reportTransitions?.({ isHealthy: health.isHealthy(), circuit: breaker.state }, problem)
    },
  })
  const queue = { maxPending: options.maxPendingRequests, queueTimeoutMs: timeouts.queueTimeoutMs }
  return {
    name,
    origin: url.origin,
    basePath,
    delimiter,
    separators: [...new Set([delimiter, ...options.reservedInNames])],
    quotesInNames: options.quotesInNames,
    headerDialect: options.headerDialect,
    namespaces: options.namespaces,
    fixedHeaders,
    database,
    allowedRequestHeaders: new Set([...allowedRequestHeaders, ...(options.allowedRequestHeaders ?? [])]),
    allowedResponseHeaders: new Set([...allowedResponseHeaders, ...(options.allowedResponseHeaders ?? [])]),
    allowedQueryParameters: new Set(options.allowedQueryParameters),
    extraOperations: new Set(options.extraOperations?.map((operation) => operation.name)),
    callerHeaders: options.callerHeaders ?? (() => []),
    forwardsCredential: options.identity === 'original',
    timeouts,
    retries: options.retries,
    client,
    slots: {
      // Small requests end soon, and a released slot goes to the holder with the fewest.
      small: createConnectionSlots({ ...queue, maxActive: options.maxConnections, maxHeldToFree: 7 }),
      bulk: createConnectionSlots({ ...queue, maxActive: options.maxBulkConnections, maxHeldToFree: 1 }),
    },
    breaker,
    retryBudget: createRetryBudget(options.retries),
    health,
    close() {
      health.close()
      client.close()
    },
  }
}

/** Lists the headers of every request to an upstream: names and values in turn. */
export function listFixedHeaders({ credentials, database }: UpstreamOptions): readonly string[] {
  return [...credentials, ...createDatabaseHeaders(database)]
}

function createDatabaseHeaders(database: string | undefined): string[] {
  if (database === undefined) return []
  const slash = database.indexOf('/')
  if (slash === -1) return [lancedbDatabaseHeader, database]
  return [lancedbDatabaseHeader, database.slice(0, slash), lancedbPrefixHeader, database.slice(slash + 1)]
}
