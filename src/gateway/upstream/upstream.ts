import {
  assertSeparable,
  buildTarget,
  createRequestForms,
  listSeparators,
  type RouteMatch,
} from '../../catalog-api/index.ts'
import { allowedRequestHeaders, allowedResponseHeaders } from '../../config/index.ts'
import { getBasePath } from '../../lib/index.ts'
import { upstreamBounds, type UpstreamBounds } from '../bounds.ts'
import type { AssertionSigner } from '../../identity/index.ts'
import { ConnectionSlots } from './connection-slots.ts'
import { createHttp1Client } from '../../http1/index.ts'
import { UpstreamHealth, type ReportHealth } from './upstream-health.ts'
import { openOwnClient, type UpstreamAccess } from './own-client.ts'

export type UpstreamOptions = UpstreamAccess & {
  /** Needed for the caller identity `assertion`. */
  readonly assertions?: AssertionSigner | undefined
  readonly bounds?: Partial<UpstreamBounds> | undefined
}

/** A catalog behind the gateway, with its connections and health. */
export type Upstream = ReturnType<typeof createUpstream>

/** Builds the request target for `upstream`. Throws InvalidInput (400) for an id that the upstream could misread. */
export function buildUpstreamTarget(upstream: Upstream, route: RouteMatch): string {
  assertSeparable(route.id, upstream.separators)
  return upstream.basePath + buildTarget(route, upstream.delimiter)
}

/** Creates the client and starts health checks. Requests need not wait for either. */
export function createUpstream(options: UpstreamOptions, report?: ReportHealth) {
  const url = new URL(options.url)
  const bounds: UpstreamBounds = { ...upstreamBounds, ...options.bounds }
  const { name, credentials, delimiter, allowedMembers, maxConnections } = options
  const client = createHttp1Client({
    url,
    opener: options.opener,
    timeouts: {
      connectTimeoutMs: bounds.connectTimeoutMs,
      headersTimeoutMs: bounds.responseHeadersTimeoutMs,
      bodyTimeoutMs: bounds.responseBodyTimeoutMs,
      totalTimeoutMs: options.timeouts.totalTimeoutMs,
    },
  })
  const own = openOwnClient(options, bounds.connectTimeoutMs)
  const hasCredential = (): boolean => credentials.current.length > 0
  const health = new UpstreamHealth({ name, probe: own.probe, hasCredential, bounds, report })
  void health.check()
  const createSlots = (maxActive: number, maxHeldToFree: number): ConnectionSlots =>
    new ConnectionSlots(maxActive, maxHeldToFree, bounds)
  return {
    /** Name for logs, metrics and audit records. */
    name,
    /** Namespaces of the upstream; undefined for the upstream that serves everything else. */
    namespaces: options.namespaces,
    origin: url.origin,
    /** Prepended to each path. */
    basePath: getBasePath(url),
    /** Joins the parts of an id. */
    delimiter,
    /** The delimiter, and other characters at which the catalog may split ids. */
    separators: listSeparators(delimiter),
    database: options.database,
    /** Names of the catalog headers that it receives. */
    headerDialect: options.headerDialect,
    /** How it gets to know the caller; `original`: it authenticates callers itself. */
    identity: options.identity,
    assertions: options.assertions,
    credentials,
    /** Headers of callers that are forwarded, besides those of `dialects`. */
    allowedRequestHeaders: new Set([...allowedRequestHeaders, ...options.allowedRequestHeaders]),
    /** Headers of responses that are forwarded to callers. */
    allowedResponseHeaders: new Set([...allowedResponseHeaders, ...options.allowedResponseHeaders]),
    /** Paths of members of JSON bodies that it receives besides those of the catalog API, by operation. */
    allowedMembers,
    /** Returns the form of the JSON bodies that it receives. */
    getRequestForm: createRequestForms(allowedMembers),
    /** Names of its operations that the catalog API does not have. */
    extraOperations: new Set(options.extraOperations.map((operation) => operation.name)),
    bounds,
    /** Every request holds a slot, so there are no more connections than slots. */
    client,
    /** For requests of the gateway itself. */
    own,
    slots: {
      // Small requests end soon, and a released slot goes to the holder with the fewest.
      small: createSlots(maxConnections, 7),
      bulk: createSlots(bounds.maxBulkConnections, 1),
      // Enough for several callers, of whom none has more than half.
      listing: createSlots(Math.max(4, Math.ceil(maxConnections / 8)), 1),
    },
    health,
    /** Aborts active requests. */
    close() {
      health.close()
      own.close()
      client.close()
    },
  }
}
