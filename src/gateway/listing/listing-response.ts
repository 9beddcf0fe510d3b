import {
  assertIdentifier,
  formatIdentifier,
  type Identifier,
  isSeparable,
  parseIdentifier,
  refusal,
  type RouteMatch,
} from '../../catalog-api/index.ts'
import type { RunInSlices } from '../../lib/index.ts'
import { getPrincipalKey } from '../../limits/index.ts'
import type { PolicySet, RequestFacts } from '../../policy/index.ts'
import type { RequestSpans } from '../../observability/index.ts'
import type { DownstreamResponse } from '../downstream.ts'
import { gatewayHeaders } from '../error-response.ts'
import type { UpstreamCallOptions, UpstreamResponse } from '../upstream/upstream-attempt.ts'
import { createIncompleteHeader, createUnavailableError, type ListingObserver } from './incomplete-listing.ts'
import { readListingPage, type ListingPosition } from './listing-page.ts'
import { createListingSources, getListedMember } from './listing-sources.ts'
import type { PageTokens } from '../sealed-tokens.ts'
import { readUpstreamJson } from '../upstream/call-upstream.ts'
import { createRequestHeaders } from '../upstream/request-headers.ts'
import type { Authenticated } from '../context.ts'
import type { Upstreams } from '../upstream/upstreams.ts'

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

interface ListingOptions {
  readonly upstreams: Upstreams
  readonly pageTokens: PageTokens
  readonly listingObserver: ListingObserver
  /** Spans of the request, if traces are on. */
  readonly spans: RequestSpans | undefined
}

/** Maximum, and default, number of names on a page. */
const maxPageSize = 10_000

/**
 * Serves a listing itself: the names that the caller may see, merged from all upstreams that have a part in it. A listing
 * of all tables lacks those of upstreams that fail, and says so in a header. Throws CatalogError (400 for a page token,
 * 502, 503, 504, or the error of an upstream), Overloaded or ClientDisconnected.
 */
export async function createListingResponse(
  request: PermittedListing,
  response: DownstreamResponse,
  { upstreams, pageTokens, listingObserver, spans }: ListingOptions,
): Promise<UpstreamResponse> {
  const { head, principal, permit, parameters } = request
  const route = { ...request.route, parameters }
  const { policies, facts } = permit
  const kind = route.operation.lists === 'namespaces' ? 'namespace' : 'table'
  const isOfAll = route.operation.lists === 'all tables'
  const limit = getLimit(route)
  const scope = createTokenScope(request)
  const { position, startAfter } = readPosition(route, pageTokens, scope)
  // LanceDB's clients take the response for the names in the root, as their server sends them, and refuse other ids.
  const rootTablesOnly = head.isLancedb
  const sources = createListingSources(
    route,
    upstreams,
    {
      rootTablesOnly,
      canSeeBeneath: (id) => policies.findVisibleBeneath({ principal, request: facts, id }) !== undefined,
    },
    (upstream, target) =>
      readUpstreamJson(upstream, target, createRequestHeaders(upstream, request), {
        checkDecision: request.checkDecision,
        holder: getPrincipalKey(principal),
        response,
        spans,
      }),
    listingObserver.nameLeftOut,
  )
  const view = policies.visibilityFor({ principal, request: facts })
  const listVisibleNamespaces = (name: string): readonly Identifier[] => {
    const { namespaces = [[]] } = upstreams.all.find((upstream) => upstream.name === name) ?? {}
    // That the root exists is no secret.
    return namespaces.filter((namespace) => namespace.length === 0 || view('namespace', namespace))
  }
  const page = await readListingPage(sources, {
    limit,
    startAfter,
    position,
    // A name with the delimiter in it has no id with this delimiter; it must not hide all others.
    isVisible: (id) => (!isOfAll || isSeparable(id, route.delimiter)) && view(kind, id),
    runInSlices: request.runInSlices,
    createError: (failures) => createUnavailableError(failures, listVisibleNamespaces),
  })
  for (const [upstream, error] of page.failures)
    listingObserver.upstreamMissing(upstream, error, head.requestId)
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
      ...createIncompleteHeader(page.failures, listVisibleNamespaces, route.delimiter),
      ...gatewayHeaders({ ...head, policyRevision: policies.revision }),
    ],
    body,
  }
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
function readPosition(
  route: RouteMatch,
  pageTokens: PageTokens,
  scope: string,
): { position?: ListingPosition; startAfter: Identifier | undefined } {
  const token = route.parameters.get('page_token')
  if (typeof token !== 'string') return { startAfter: undefined }
  if (!pageTokens.isSealed(token)) return { startAfter: parseStartAfter(token, route) }
  const position = pageTokens.open(token, scope)
  return { position, startAfter: position.startAfter }
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
