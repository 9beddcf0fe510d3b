import { refusal } from '../../catalog-api/catalog-error.ts'
import { isExtraOperation } from '../../catalog-api/extra-operation.ts'
import { assertSeparable, quoteForMessage } from '../../catalog-api/identifiers.ts'
import { formatIdentifierForMessage } from '../../catalog-api/identifier-text.ts'
import { findOperation } from '../../catalog-api/operations.ts'
import { unknownParameterError } from '../../catalog-api/query-parameters.ts'
import { unknownOperationError, type RouteMatch } from '../../catalog-api/request-target.ts'
import type { Matched } from '../context.ts'
import { listAdditionalPermissions, type PermissionDecision } from '../authorization/required-permission.ts'
import { buildUpstreamTarget, type Upstream } from './upstream.ts'
import type { Upstreams } from './upstreams.ts'

interface RequestDecisions {
  readonly decisions: readonly PermissionDecision[]
  /** Members of the body that the settings of the matched upstream allow. */
  readonly allowedMembers: ReadonlySet<string>
}

/**
 * Finds the one upstream of all objects that a request concerns, and the target of `route` there. Throws InvalidInput
 * (400) if objects lie at different upstreams or have names that theirs could split, and for a query parameter that the upstream
 * does not accept; 406 for an extra operation that it does not have; a conflict (409) if the request would remove or replace a
 * namespace below which another upstream is mounted.
 */
export function findSoleUpstream(
  request: Matched,
  decided: RequestDecisions,
  route: RouteMatch,
  upstreams: Upstreams,
): { readonly upstream: Upstream; readonly upstreamTarget: string } {
  const further = listAdditionalPermissions(decided.decisions)
  const [first] = further
  const isBatch = route.operation.object === 'none' && first !== undefined
  const upstream = isBatch ? upstreams.forId(first.id) : request.routeUpstream
  for (const { id, kind } of further) {
    // A permission without an object concerns only the tables of the upstream.
    if (kind === 'none') continue
    if (upstreams.forId(id) !== upstream) {
      throw refusal(
        'multiple_upstreams',
        'the objects of the request lie in different catalogs; expected all in one',
      )
    }
    assertSeparable(id, upstream.separators)
  }
  assertMountsUntouched(route, decided, upstreams)
  assertOperationServed(request, upstream)
  assertParametersAllowed(route, upstream)
  assertMembersAllowed(route, decided, upstream)
  const isAsMatched = upstream === request.routeUpstream && route === request.route
  return {
    upstream,
    upstreamTarget: isAsMatched ? request.routeTarget : buildUpstreamTarget(upstream, route),
  }
}

/** An upstream does not know the others: a namespace whose content lies at another one looks empty to it. */
function assertMountsUntouched(
  { operation, id }: RouteMatch,
  { decisions }: RequestDecisions,
  upstreams: Upstreams,
): void {
  const isDrop = operation.object === 'namespace' && operation.group === 'drop'
  if (isDrop && upstreams.hasMountAtOrBelow(id)) {
    throw refusal(
      'mounted_namespace_not_empty',
      'the namespace leads to another catalog, which stays where it is',
    )
  }
  const replaces = decisions.some(({ requiredPermission }) => requiredPermission.includesSubtree === true)
  if (replaces && upstreams.listMountNames(id).length > 0) {
    throw refusal(
      'mounted_namespace_exists',
      'the namespace leads to another catalog, so it cannot be replaced',
    )
  }
  for (const { requiredPermission } of decisions) {
    if (
      requiredPermission.kind === 'namespace' ||
      findOperation(requiredPermission.permission)?.creates !== true ||
      !upstreams.hasMountAtOrBelow(requiredPermission.id)
    )
      continue
    throw refusal(
      'mounted_namespace_in_place',
      `${formatIdentifierForMessage(requiredPermission.id)} is a namespace that leads to another catalog`,
    )
  }
}

function assertParametersAllowed(
  { operation, extraParameters }: RouteMatch,
  { allowedQueryParameters }: Upstream,
): void {
  for (const name of extraParameters?.keys() ?? [])
    if (!allowedQueryParameters.has(name)) throw unknownParameterError(name, operation)
}

/** The body of a batch was read with the members of the upstream of the root. */
function assertMembersAllowed(
  { operation }: RouteMatch,
  { allowedMembers }: RequestDecisions,
  { allowedMembers: allowed }: Upstream,
): void {
  for (const path of allowedMembers) {
    if (allowed[operation.name]?.includes(path) === true) continue
    throw refusal(
      'unknown_member',
      `${operation.name} has no member ${quoteForMessage(path)} in its body; omit it`,
    )
  }
}

/** Checked late, so that only callers that may use the operation learn which upstream has it. */
function assertOperationServed({ head, route }: Matched, { extraOperations }: Upstream): void {
  const { operation } = route
  if (isExtraOperation(operation) && !extraOperations.has(operation.name))
    throw unknownOperationError(head.target.replace(/\/?(?:\?.*)?$/, ''))
}
