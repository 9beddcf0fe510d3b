import { refusal } from '../../interface/errors.ts'
import type { StatedFacts } from '../../interface/facts.ts'
import { assertSeparable, show } from '../../interface/identifiers.ts'
import type { Permission } from '../../interface/permissions.ts'
import type { Target } from '../../interface/target.ts'
import type { Matched } from '../context.ts'
import { furtherNeeds, type DecidedNeed } from '../needs.ts'
import { upstreamTarget } from './upstream-target.ts'
import type { Upstream } from './upstream.ts'
import type { Upstreams } from './upstreams.ts'

/** What was decided about a request. */
interface DecidedRequest {
  readonly stated: StatedFacts
  readonly decided: readonly DecidedNeed[]
}

/**
 * Finds the one upstream of all objects that a request concerns, and the target of `route` there. Throws InvalidInput
 * (400) if objects lie at different upstreams or have names that theirs could split, and for a client that names another
 * database than the upstream has; a conflict (409) if the request would remove or replace a namespace that another
 * upstream is mounted below.
 */
export function soleUpstream(
  request: Matched,
  decided: DecidedRequest,
  route: Target,
  upstreams: Upstreams,
): Pick<Matched, 'upstream' | 'upstreamTarget'> {
  const further = furtherNeeds(decided.decided)
  const [first] = further
  const isBatch = route.operation.object === 'none' && first !== undefined
  const upstream = isBatch ? upstreams.of(first.id) : request.upstream
  for (const { id, kind } of further) {
    // A permission without an object concerns the tables of the upstream alone.
    if (kind === 'none') continue
    if (upstreams.of(id) !== upstream) {
      throw refusal(
        'multiple_upstreams',
        'the objects of the request lie in different catalogs; expected all in one',
      )
    }
    assertSeparable(id, upstream.separators)
  }
  assertLeavesMounts(route, decided, upstreams)
  assertDatabase(request.head.database, upstream)
  const isAsMatched = upstream === request.upstream && route === request.route
  return {
    upstream,
    upstreamTarget: isAsMatched ? request.upstreamTarget : upstreamTarget(upstream, route),
  }
}

/** The permissions to create a table. */
const creations: ReadonlySet<Permission> = new Set([
  'CreateTable',
  'DeclareTable',
  'RegisterTable',
  'CreateMaterializedView',
] as const)

/** An upstream does not know the others: a namespace whose content lies at another one looks empty to it. */
function assertLeavesMounts(
  { operation, id }: Target,
  { stated, decided }: DecidedRequest,
  upstreams: Upstreams,
): void {
  if (operation.name === 'DropNamespace' && upstreams.leadsOnFrom(id)) {
    throw refusal(
      'mounted_namespace_not_empty',
      'the namespace leads to another catalog, which stays where it is',
    )
  }
  if (operation.name === 'CreateNamespace' && stated.mode === 'overwrite') {
    if (upstreams.leadingOnFrom(id).length === 0) return
    throw refusal(
      'mounted_namespace_exists',
      'the namespace leads to another catalog, so it cannot be replaced',
    )
  }
  for (const { need } of decided) {
    if (need.kind === 'namespace' || !creations.has(need.permission) || !upstreams.leadsOnFrom(need.id))
      continue
    throw refusal(
      'mounted_namespace_in_place',
      `${show(need.id.join('.'))} is a namespace that leads to another catalog`,
    )
  }
}

/** The name is not forwarded, so a client that means another database must not reach this one. */
function assertDatabase(named: string | undefined, { database }: Upstream): void {
  if (database === undefined || named === undefined || named === database) return
  throw refusal('wrong_database', `${show(named)} is not the database that is served here`)
}
