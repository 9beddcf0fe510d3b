import { refusal } from '../../catalog-api/catalog-error.ts'
import { isExtraOperation } from '../../catalog-api/extra-operation.ts'
import type { StatedFacts } from '../../catalog-api/facts.ts'
import { quoteForMessage } from '../../catalog-api/identifiers.ts'
import { formatIdentifierForMessage } from '../../catalog-api/not-found.ts'
import type { Permission } from '../../catalog-api/permissions.ts'
import { unknownParameterError } from '../../catalog-api/query-parameters.ts'
import { unknownRouteError, type RouteMatch } from '../../catalog-api/request-target.ts'
import type { Matched } from '../context.ts'
import { listAdditionalPermissions, type PermissionDecision } from '../authorization/required-permission.ts'
import { assertNamesAccepted } from './assert-names-accepted.ts'
import { buildUpstreamTarget } from './upstream-target.ts'
import type { Upstream } from './upstream.ts'
import type { Upstreams } from './upstreams.ts'

interface RequestDecisions {
  readonly stated: StatedFacts
  readonly decisions: readonly PermissionDecision[]
}

/**
 * Finds the one upstream of all objects that a request concerns, and the target of `route` there. Throws InvalidInput
 * (400) if objects lie at different upstreams or have names that theirs could split, and for another database or a query
 * parameter that the upstream does not accept; 404 for an extra operation that it does not have; a conflict (409) if the
 * request would remove or replace a namespace below which another upstream is mounted.
 */
export function findSoleUpstream(
  request: Matched,
  decided: RequestDecisions,
  route: RouteMatch,
  upstreams: Upstreams,
): Pick<Matched, 'upstream' | 'upstreamTarget'> {
  const further = listAdditionalPermissions(decided.decisions)
  const [first] = further
  const isBatch = route.operation.object === 'none' && first !== undefined
  const upstream = isBatch ? upstreams.forId(first.id) : request.upstream
  for (const { id, kind } of further) {
    // A permission without an object concerns only the tables of the upstream.
    if (kind === 'none') continue
    if (upstreams.forId(id) !== upstream) {
      throw refusal(
        'multiple_upstreams',
        'the objects of the request lie in different catalogs; expected all in one',
      )
    }
    assertNamesAccepted(id, upstream)
  }
  assertMountsUntouched(route, decided, upstreams)
  assertDatabase(request.head.database, upstream)
  assertOperationServed(request, upstream)
  assertParametersAllowed(route, upstream)
  const isAsMatched = upstream === request.upstream && route === request.route
  return {
    upstream,
    upstreamTarget: isAsMatched ? request.upstreamTarget : buildUpstreamTarget(upstream, route),
  }
}

const creationPermissions: ReadonlySet<Permission> = new Set([
  'CreateTable',
  'DeclareTable',
  'RegisterTable',
  'CreateMaterializedView',
  'CreateView',
] as const)

/** An upstream does not know the others: a namespace whose content lies at another one looks empty to it. */
function assertMountsUntouched(
  { operation, id }: RouteMatch,
  { stated, decisions }: RequestDecisions,
  upstreams: Upstreams,
): void {
  if (operation.name === 'DropNamespace' && upstreams.hasMountAtOrBelow(id)) {
    throw refusal(
      'mounted_namespace_not_empty',
      'the namespace leads to another catalog, which stays where it is',
    )
  }
  if (operation.name === 'CreateNamespace' && stated.mode === 'overwrite') {
    if (upstreams.listMountNames(id).length === 0) return
    throw refusal(
      'mounted_namespace_exists',
      'the namespace leads to another catalog, so it cannot be replaced',
    )
  }
  for (const { requiredPermission } of decisions) {
    if (
      requiredPermission.kind === 'namespace' ||
      !creationPermissions.has(requiredPermission.permission) ||
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

/** Checked late, so that only callers that may use the operation learn which upstream has it. */
function assertOperationServed({ head, route }: Matched, { extraOperations }: Upstream): void {
  const { operation } = route
  if (isExtraOperation(operation) && !extraOperations.has(operation.name))
    throw unknownRouteError(head.target.replace(/\/?(?:\?.*)?$/, ''))
}

/** The name is not forwarded, so a client that means another database must not reach this one. */
function assertDatabase(named: string | undefined, { database }: Upstream): void {
  if (database === undefined || named === undefined || named === database) return
  throw refusal('wrong_database', `${quoteForMessage(named)} is not the database that is served here`)
}
