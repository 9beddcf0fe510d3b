import {
  assertSeparable,
  defaultDelimiter,
  listSeparators,
  type Identifier,
} from '../../catalog-api/identifiers.ts'
import { buildTarget, type RouteMatch } from '../../catalog-api/request-target.ts'
import type { ExtraOperationDeclaration } from '../../catalog-api/extra-operation.ts'
import type { JsonForm } from '../../lib/json/json-form.ts'
import type { Operation } from '../../catalog-api/operations.ts'
import { createRequestForms, type AllowedMembers } from '../../catalog-api/body-forms.ts'
import type { HeaderDialect } from '../../catalog-api/headers.ts'
import { allowedRequestHeaders, allowedResponseHeaders, type CallerIdentity } from '../../config/index.ts'
import { getBasePath } from '../../lib/http/base-path.ts'
import { upstreamBounds, type UpstreamBounds } from '../bounds.ts'
import type { PoolName } from '../../limits/overload/shed-class.ts'
import type { CallerHeaders } from './caller-headers.ts'
import { CircuitBreaker, type CircuitState } from './circuit-breaker.ts'
import { createConnectionSlots, type ConnectionSlots } from './connection-slots.ts'
import { createHttp1Client, type Http1Client } from '../../http1/client/http1-client.ts'
import { startHealthChecker, type HealthChecker } from './health-checker.ts'
import { createOwnHeaders, openOwnClient, type OwnClient, type UpstreamAccess } from './own-client.ts'

export interface UpstreamOptions extends UpstreamAccess {
  /** Name for logs, metrics and audit records. */
  readonly name: string
  /** Names of the catalog headers that it receives. */
  readonly headerDialect: HeaderDialect
  /** Namespaces of the upstream; undefined for the upstream that serves everything else. */
  readonly namespaces?: readonly Identifier[] | undefined
  /** What the upstream receives about the caller; nothing by default. */
  readonly identity?: CallerIdentity
  /** The headers that carry it. */
  readonly callerHeaders?: CallerHeaders
  /** Lower-case names of headers that are forwarded besides those of the interface. */
  readonly allowedRequestHeaders?: readonly string[]
  readonly allowedQueryParameters?: readonly string[]
  /** Paths of members of JSON bodies that it receives besides those of the catalog API, by operation. */
  readonly allowedMembers?: AllowedMembers
  /** Operations of this upstream that the catalog API does not have. */
  readonly extraOperations?: readonly ExtraOperationDeclaration[]
  readonly allowedResponseHeaders?: readonly string[]
  readonly maxConnections: number
  readonly timeouts: { readonly totalTimeoutMs: number }
  readonly bounds?: Partial<UpstreamBounds> | undefined
}

/** A catalog behind the gateway, with its connections and what is known of how it is. */
export interface Upstream
  extends
    Pick<UpstreamOptions, 'name' | 'headerDialect' | 'credentials'>,
    Required<Pick<UpstreamOptions, 'namespaces' | 'database' | 'callerHeaders' | 'allowedMembers'>> {
  readonly origin: string
  /** Prepended to each path. */
  readonly basePath: string
  /** Joins the parts of an id. */
  readonly delimiter: string
  /** The delimiter, and other characters at which the catalog may split ids. */
  readonly separators: readonly string[]
  /** Returns the headers of every request, such as the credential of the gateway and the database: names and values in turn. */
  readonly getOwnHeaders: () => readonly string[]
  /** Headers of callers that are forwarded, besides those of `dialects`. */
  readonly allowedRequestHeaders: ReadonlySet<string>
  /** Headers of responses that are forwarded to callers. */
  readonly allowedResponseHeaders: ReadonlySet<string>
  /** Query parameters of callers that are forwarded, besides those of the catalog API. */
  readonly allowedQueryParameters: ReadonlySet<string>
  /** Returns the form of the JSON bodies that it receives. */
  readonly getRequestForm: (operation: Operation) => JsonForm
  /** Names of its operations that the catalog API does not have. */
  readonly extraOperations: ReadonlySet<string>
  /** Whether it authenticates callers itself. */
  readonly forwardsCredential: boolean
  readonly bounds: UpstreamBounds
  /** Every request holds a slot, so there are no more connections than slots. */
  readonly client: Http1Client
  /** For requests of the gateway itself. */
  readonly own: OwnClient
  readonly slots: Readonly<Record<PoolName, ConnectionSlots>>
  readonly breaker: CircuitBreaker
  readonly retryBudget: RetryBudget
  readonly health: HealthChecker
  /** Aborts active requests. */
  close(): void
}

/**
 * Builds the request target for `upstream`, without extra parameters that it does not accept: a listing is read from
 * several upstreams. Throws InvalidInput (400) for an id that the upstream could misread.
 */
export function buildUpstreamTarget(upstream: Upstream, route: RouteMatch): string {
  assertSeparable(route.id, upstream.separators)
  const { basePath, delimiter, allowedQueryParameters } = upstream
  if (route.extraParameters === undefined) return basePath + buildTarget(route, delimiter)
  const accepted = [...route.extraParameters].filter(([name]) => allowedQueryParameters.has(name))
  return basePath + buildTarget({ ...route, extraParameters: new Map(accepted) }, delimiter)
}

/** Returns the maximum number of connections for listings: enough for several callers, of whom none has more than half. */
export function countListingConnections(maxConnections: number): number {
  return Math.max(4, Math.ceil(maxConnections / 8))
}

/** Receives each transition of an upstream once: it starts healthy and closed. */
export interface UpstreamObserver {
  /** `problem`: why the latest check failed; undefined if it passed. */
  healthChanged(upstream: string, isHealthy: boolean, problem: string | undefined): void
  circuitChanged(upstream: string, state: CircuitState, problem: string | undefined): void
}

/** Creates the client and starts health checks. Requests need not wait for either. */
export function createUpstream(options: UpstreamOptions, observer?: UpstreamObserver): Upstream {
  const url = new URL(options.url)
  const bounds = { ...upstreamBounds, ...options.bounds }
  const { name, database, timeouts, allowedMembers = {} } = options
  const getOwnHeaders = createOwnHeaders(options)
  const basePath = getBasePath(url)
  const delimiter = options.delimiter ?? defaultDelimiter
  const client = createHttp1Client({
    url,
    opener: options.opener,
    timeouts: {
      connectTimeoutMs: bounds.connectTimeoutMs,
      headersTimeoutMs: bounds.responseHeadersTimeoutMs,
      bodyTimeoutMs: bounds.responseBodyTimeoutMs,
      totalTimeoutMs: timeouts.totalTimeoutMs,
    },
  })
  const breaker = new CircuitBreaker(bounds, () => health.checkNow())
  let wasHealthy = true
  const own = openOwnClient(options, bounds.connectTimeoutMs)
  const health = startHealthChecker(own, options.credentials, bounds, (problem) => {
    const circuit = breaker.state
    breaker.recordProbe(problem === undefined)
    const isHealthy = health.isHealthy()
    if (isHealthy !== wasHealthy) observer?.healthChanged(name, isHealthy, problem)
    if (breaker.state !== circuit) observer?.circuitChanged(name, breaker.state, problem)
    wasHealthy = isHealthy
  })
  const queue = { maxPending: bounds.maxPendingRequests, queueTimeoutMs: bounds.queueTimeoutMs }
  return {
    name,
    origin: url.origin,
    basePath,
    delimiter,
    separators: listSeparators(delimiter),
    headerDialect: options.headerDialect,
    namespaces: options.namespaces,
    credentials: options.credentials,
    getOwnHeaders,
    database,
    allowedRequestHeaders: new Set([...allowedRequestHeaders, ...(options.allowedRequestHeaders ?? [])]),
    allowedResponseHeaders: new Set([...allowedResponseHeaders, ...(options.allowedResponseHeaders ?? [])]),
    allowedQueryParameters: new Set(options.allowedQueryParameters),
    allowedMembers,
    getRequestForm: createRequestForms(allowedMembers),
    extraOperations: new Set(options.extraOperations?.map((operation) => operation.name)),
    callerHeaders: options.callerHeaders ?? (() => []),
    forwardsCredential: options.identity === 'original',
    bounds,
    client,
    own,
    slots: {
      // Small requests end soon, and a released slot goes to the holder with the fewest.
      small: createConnectionSlots({ ...queue, maxActive: options.maxConnections, maxHeldToFree: 7 }),
      bulk: createConnectionSlots({ ...queue, maxActive: bounds.maxBulkConnections, maxHeldToFree: 1 }),
      listing: createConnectionSlots({
        ...queue,
        maxActive: countListingConnections(options.maxConnections),
        maxHeldToFree: 1,
      }),
    },
    breaker,
    retryBudget: createRetryBudget(bounds.retryBudgetPercent),
    health,
    close() {
      health.close()
      own.close()
      client.close()
    },
  }
}

/** Limits retries to a small ratio of all requests, so that they cannot multiply the load of a failing upstream. */
interface RetryBudget {
  /** Called for the first attempt of a request. */
  deposit(): void
  /** Whether a retry is allowed now; uses the budget if so. */
  tryWithdraw(): boolean
}

/** Maximum burst of retries after an idle period. */
const maxSavedRetries = 50

/** Creates a full budget. `budgetPercent` is the maximum ratio of retries to requests over time, in whole percent. */
export function createRetryBudget(budgetPercent: number): RetryBudget {
  // In hundredths of a retry: sums of fractions are inexact.
  const most = budgetPercent === 0 ? 0 : maxSavedRetries * 100
  let saved = most
  return {
    deposit() {
      saved = Math.min(most, saved + budgetPercent)
    },
    tryWithdraw() {
      if (saved < 100) return false
      saved -= 100
      return true
    },
  }
}
