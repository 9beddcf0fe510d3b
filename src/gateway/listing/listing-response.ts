import {
  assertIdentifier,
  type CatalogError,
  formatIdentifier,
  type Identifier,
  incompleteHeader,
  isSeparable,
  parseIdentifier,
  refusal,
  type RouteMatch,
} from '../../catalog-api/index.ts'
import { isObject, parseJsonBytes, type RunInSlices } from '../../lib/index.ts'
import { getPrincipalKey } from '../../limits/index.ts'
import type { PolicySet, RequestFacts } from '../../policy/index.ts'
import type { RequestSpans } from '../../observability/index.ts'
import type { DownstreamResponse } from '../downstream.ts'
import { gatewayHeaders } from '../error-response.ts'
import type { JsonObject } from '../facts/stated-facts.ts'
import type { UpstreamCallOptions, UpstreamResponse } from '../upstream/upstream-attempt.ts'
import { readListingPage, type ListingPosition } from './listing-page.ts'
import { createListingSources, getListedMember } from './listing-sources.ts'
import type { PageTokens } from '../sealed-tokens.ts'
import { callUpstream } from '../upstream/call-upstream.ts'
import { createRequestHeaders } from '../upstream/request-headers.ts'
import { buildUpstreamTarget, type Upstream } from '../upstream/upstream.ts'
import { assertNotCompressed, createUpstreamError, toDownstreamError } from '../upstream/upstream-error.ts'
import type { Upstreams } from '../upstream/upstreams.ts'
import type { Authenticated } from '../context.ts'

/** A listing that the policies allowed. */
interface PermittedListing extends Authenticated {
  readonly permit: { readonly policies: PolicySet; readonly facts: RequestFacts }
  readonly allowedBy: { readonly revision: string }
  /** Those of the route and of the body. */
  readonly parameters: RouteMatch['parameters']
  readonly runInSlices: RunInSlices
  readonly reserveMemory: (bytes: number) => void
  readonly checkDecision: NonNullable<UpstreamCallOptions['checkDecision']>
}

export interface ListingOptions {
  readonly upstreams: Upstreams
  readonly pageTokens: PageTokens
  readonly observer: {
    upstreamMissing(upstream: string, error: CatalogError, requestId: string): void
    readonly nameLeftOut: (upstream: string, reason: CatalogError) => void
  }
}

/** Maximum, and default, number of names on a page. */
const maxPageSize = 10_000
const maxHeaderLength = 2_000

/**
 * Serves a listing itself: the names that the caller may see, merged from all upstreams that have a part in it. A listing
 * of all tables lacks those of upstreams that fail, and says so in a header. Throws CatalogError (400 for a page token,
 * 502, 503, 504, or the error of an upstream), Overloaded or ClientDisconnected.
 */
export async function createListingResponse(
  request: PermittedListing,
  response: DownstreamResponse,
  { upstreams, pageTokens, observer }: ListingOptions,
  spans: RequestSpans | undefined,
): Promise<UpstreamResponse> {
  const { head, principal, permit, parameters } = request
  const route = { ...request.route, parameters }
  const { policies, facts } = permit
  const kind = route.operation.lists === 'namespaces' ? 'namespace' : 'table'
  const isOfAll = route.operation.lists === 'all tables'
  const limit = getLimit(route)
  const scope = createTokenScope(request)
  // LanceDB's clients take the response for the names in the root, as their server sends them, and refuse other ids.
  const rootTablesOnly = isOfAll && head.isLancedb
  const sources = createListingSources(route, upstreams, {
    rootTablesOnly,
    canSeeBeneath: (id) => policies.findVisibleBeneath({ principal, request: facts, id }) !== undefined,
    read: (upstream, target) => readUpstream(upstream, target, request, response, spans),
    onNameLeftOut: observer.nameLeftOut,
  })
  const view = policies.visibilityFor({ principal, request: facts })
  const page = await readListingPage(sources, {
    limit,
    position: readPosition(route, pageTokens, scope),
    isVisible(id) {
      if (rootTablesOnly && id.length > 1) return false
      // A name with the delimiter in it has no id with this delimiter; it must not hide all others.
      return (!isOfAll || isSeparable(id, route.delimiter)) && view(kind, id)
    },
    runInSlices: request.runInSlices,
  })
  const missing: Identifier[] = []
  for (const { name, namespaces = [[]] } of upstreams.all) {
    const error = page.failures.get(name)
    if (error === undefined) continue
    observer.upstreamMissing(name, error, head.requestId)
    // That the root exists is no secret.
    missing.push(...namespaces.filter((namespace) => namespace.length === 0 || view('namespace', namespace)))
  }
  const members = {
    [getListedMember(route.operation)]: page.ids.map((id) =>
      isOfAll ? formatIdentifier(id, route.delimiter) : (id.at(-1) ?? ''),
    ),
    ...(page.position && { page_token: pageTokens.seal(page.position, scope) }),
  }
  const body = Buffer.from(JSON.stringify(members))
  request.reserveMemory(body.length)
  return {
    status: 200,
    headers: [
      'content-type',
      'application/json',
      ...createIncompleteHeader(missing, route.delimiter),
      ...gatewayHeaders({ ...head, policyRevision: policies.revision }),
    ],
    body,
  }
}

/**
 * Reads a listing of an upstream, with a slot and retries like any other read. Throws the CatalogError to send to the client, or
 * ClientDisconnected.
 */
async function readUpstream(
  upstream: Upstream,
  target: RouteMatch,
  request: PermittedListing,
  response: DownstreamResponse,
  spans: RequestSpans | undefined,
): Promise<JsonObject> {
  const { method } = target.operation
  const headers = createRequestHeaders(upstream, request)
  const outgoing = { method, path: buildUpstreamTarget(upstream, target), headers, body: null }
  const options = {
    checkDecision: request.checkDecision,
    holder: getPrincipalKey(request.principal),
    response,
    spans,
    addedHeaders: [],
    responseHeaders: [],
    abortsWithClient: true,
    buffersResponse: true,
    pool: 'listing',
  } as const
  const listed = await callUpstream(upstream, outgoing, options, true).catch((error: unknown) => {
    throw toDownstreamError(error)
  })
  if (listed.status >= 300) throw createUpstreamError(listed, upstream, headers)
  assertNotCompressed(listed.headers)
  const value = listed.body && parseJsonBytes(listed.body)
  if (isObject(value)) return value
  throw refusal('upstream_response_invalid', 'the response of the catalog is not a JSON object')
}

/**
 * The header that lists missing namespaces, all visible to the caller: name and value, or nothing if there are none.
 * Names of upstreams are settings, for the log alone.
 */
function createIncompleteHeader(namespaces: readonly Identifier[], delimiter: string): readonly string[] {
  if (namespaces.length === 0) return []
  const missing = namespaces.map((id) => encodeURIComponent(formatIdentifier(id, delimiter))).join(', ')
  return [incompleteHeader, missing.length > maxHeaderLength ? '*' : missing]
}

/** An empty page that is not the last one would make clients ask for ever. */
function getLimit({ parameters }: RouteMatch): number {
  const limit = Number(parameters.get('limit') ?? maxPageSize)
  if (limit === 0)
    throw refusal('invalid_query', 'the query parameter "limit" is 0; expected at least 1, or no limit')
  return Math.min(maxPageSize, limit)
}

/**
 * The caller and the listing that a page token belongs to. Policies are not part of it: each page is filtered by those
 * in force, and a position only leads to another part of the same listing.
 */
function createTokenScope(request: PermittedListing): string {
  const { head, principal, route, parameters } = request
  const { operation, id } = route
  const caller = getPrincipalKey(principal)
  const includesDeclared = parameters.get('include_declared') ?? 'true'
  return JSON.stringify([1, caller, operation.name, id, includesDeclared, head.isLancedb])
}

/**
 * Parses the start of the page. A page token that the gateway did not issue is a name to start after, as LanceDB sends
 * it: it is compared with listed names, and never sent to an upstream, which could interpret it differently.
 */
function readPosition(route: RouteMatch, pageTokens: PageTokens, scope: string): ListingPosition {
  const token = route.parameters.get('page_token')
  if (typeof token !== 'string') return {}
  return pageTokens.isSealed(token)
    ? pageTokens.open(token, scope)
    : { startAfter: parseStartAfter(token, route) }
}

function parseStartAfter(token: string, { operation, id, delimiter }: RouteMatch): Identifier {
  try {
    return operation.lists === 'all tables'
      ? parseIdentifier(token, delimiter)
      : assertIdentifier([...id, token])
  } catch (cause) {
    throw refusal(
      'invalid_page_token',
      'invalid page_token: expected a token of this gateway or a name to start after',
      { cause },
    )
  }
}
