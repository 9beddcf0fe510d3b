import {
  assertIdentifier,
  CatalogError,
  type Identifier,
  type Operation,
  parseIdentifier,
  refusal,
  type RouteMatch,
} from '../../catalog-api/index.ts'
import { AuthenticationError } from '../../identity/index.ts'
import { isListOfStrings } from '../../lib/index.ts'
import type { JsonObject } from '../facts/stated-facts.ts'
import { compareIdentifiers, type ListingSource, type SourcePage } from './listing-page.ts'
import type { Upstream } from '../upstream/upstream.ts'
import { findServedId, type Upstreams } from '../upstream/upstreams.ts'

/** Returns the member of the response that holds the listed names. */
export function getListedMember({ lists = 'tables' }: Operation): string {
  return lists === 'all tables' ? 'tables' : lists
}

interface SourceOptions {
  /** Whether the policies can make anything beneath the namespace visible. */
  readonly canSeeBeneath: (namespace: Identifier) => boolean
  /** Whether only tables in the root are listed. */
  readonly rootTablesOnly: boolean
  /** Reads the response of an upstream to the listing. */
  readonly read: (upstream: Upstream, target: RouteMatch) => Promise<JsonObject>
  /** Receives each name that an upstream lists and that no request could contain, with the reason. */
  readonly onNameLeftOut: (upstream: string, reason: CatalogError) => void
}

/**
 * Creates the sources of a listing: the listing of the upstream of the namespace, without names that belong to other
 * upstreams, and the names of mount points, whether or not that upstream has such namespaces. A listing of all tables
 * merges those of all upstreams, each without names that belong to others, and does without upstreams that fail. If it
 * is restricted to the root, only one upstream has such tables. Upstreams in which the caller can see nothing are not read.
 */
export function createListingSources(
  route: RouteMatch,
  upstreams: Upstreams,
  { canSeeBeneath, rootTablesOnly, read, onNameLeftOut }: SourceOptions,
): readonly ListingSource[] {
  const { lists } = route.operation
  const list = (
    upstream: Upstream,
    target: RouteMatch,
    parse: (name: string) => Identifier,
  ): ListingSource => ({
    name: upstream.name,
    async read(token, size) {
      const parameters = new Map(target.parameters).set('limit', String(size))
      parameters.delete('page_token')
      if (token !== undefined) parameters.set('page_token', token)
      return readPage(route.operation, await read(upstream, { ...target, parameters }), token)
    },
    toIdentifier: (name) =>
      findServedId(
        upstreams,
        upstream,
        () => parse(name),
        (reason) => onNameLeftOut(upstream.name, reason),
      ),
  })
  if (!canSeeBeneath(route.id)) return []
  if (lists === 'all tables') {
    const visible = upstreams.all.filter(({ namespaces = [[]] }) => namespaces.some(canSeeBeneath))
    return (rootTablesOnly ? [upstreams.root] : visible).map((upstream): ListingSource => {
      const { delimiter } = upstream
      // No part of a valid id contains this delimiter, so a name cannot be mistaken for another id.
      const all = list(upstream, { ...route, delimiter }, (name) => parseIdentifier(name, delimiter))
      return { ...all, findReason: findReasonToContinue }
    })
  }
  const leadingOn = upstreams.listMountNames(route.id)
  const own = list(upstreams.forId(route.id), route, (name) => assertIdentifier([...route.id, name]))
  if (leadingOn.length === 0) return [own]
  const elsewhere = new Set(leadingOn)
  const rest: ListingSource = {
    name: own.name,
    // Namespaces of other upstreams exist even if this upstream has no such namespace.
    read: (token, size) => own.read(token, size).catch(emptyIfNamespaceMissing),
    toIdentifier: (name) => (elsewhere.has(name) ? undefined : own.toIdentifier(name)),
  }
  if (lists !== 'namespaces') return [rest]
  const names = leadingOn.toSorted((one, other) => compareIdentifiers([one], [other]))
  const mounts: ListingSource = {
    // Names of upstreams do not start with a dash.
    name: '-',
    read: () => Promise.resolve({ names, next: undefined }),
    toIdentifier: (name) => [...route.id, name],
  }
  return [rest, mounts]
}

function readPage(operation: Operation, members: JsonObject, token: string | undefined): SourcePage {
  const names = members[getListedMember(operation)]
  const next = members['page_token'] ?? ''
  const isListing = isListOfStrings(names) && typeof next === 'string'
  if (!isListing || (next !== '' && next === token)) {
    const problem = isListing ? 'the listing repeats a page' : 'not a listing'
    throw refusal('upstream_response_invalid', `invalid response of the upstream: ${problem}`)
  }
  return { names, next: next === '' ? undefined : next }
}

function emptyIfNamespaceMissing(error: unknown): SourcePage {
  if (error instanceof CatalogError && error.kind === 'NamespaceNotFound')
    return { names: [], next: undefined }
  throw error
}

/**
 * A listing of all tables can do without an upstream that is down, or that lacks the operation. A refusal of the caller
 * or of the request is an error of the listing.
 */
function findReasonToContinue(error: unknown): CatalogError | undefined {
  if (!(error instanceof CatalogError)) return undefined
  const isOfCaller = error instanceof AuthenticationError || error.reason === 'permissions_changed'
  if (isOfCaller) return undefined
  if (error.status >= 500) return error
  if (error.kind !== 'Unsupported' && error.status !== 404) return undefined
  const message = 'ListAllTables is not supported; list the namespaces and the tables of each'
  return new CatalogError('Unsupported', message, { status: error.status, cause: error.cause })
}
