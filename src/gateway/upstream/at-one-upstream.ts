import { InterfaceError, invalidInput } from '../../interface/errors.ts'
import { assertSeparable, show } from '../../interface/identifiers.ts'
import type { Permission } from '../../interface/permissions.ts'
import { targetAt } from '../match.ts'
import { placed, type Consistent, type Placed, type Settled } from '../stages.ts'
import { furtherNeeds } from '../needs.ts'
import type { Upstream } from './upstream.ts'
import type { Upstreams } from './upstreams.ts'

/**
 * The end of the check: every object that a request is about lies at the upstream that it goes to. The route of a
 * batch names no object, so its body decides where it goes. Throws InvalidInput (400) where objects lie at different
 * upstreams, or have names that theirs could split, and for a client that names another database than the upstream has;
 * and a conflict (409) where it would remove or replace a namespace that leads to where another upstream begins.
 */
export function atOneUpstream(request: Consistent, upstreams: Upstreams): Placed {
  const { restated } = request
  const further = furtherNeeds(request.decided)
  const meaning = restated ? { ...request.meaning, parameters: restated.parameters } : request.meaning
  const [first] = further
  const isBatch = meaning.operation.object === 'none' && first !== undefined
  const upstream = isBatch ? upstreams.of(first.id) : request.upstream
  for (const { id, kind } of further) {
    // It names no object: an upstream has no other tables than its own to read.
    if (kind === 'none') continue
    if (upstreams.of(id) !== upstream) {
      throw invalidInput('the objects of the request lie in different catalogs; expected all in one')
    }
    assertSeparable(id, upstream.separators)
  }
  assertLeavesOthers(request, upstreams)
  assertDatabase(request.database, upstream)
  const isAsMatched = upstream === request.upstream && restated === undefined
  return placed(request, upstream, isAsMatched ? request.upstreamTarget : targetAt(upstream, meaning))
}

/** The permissions to make a table of an id. */
const creations: ReadonlySet<Permission> = new Set([
  'CreateTable',
  'DeclareTable',
  'RegisterTable',
  'CreateMaterializedView',
] as const)

/** An upstream does not know of the others: it takes a namespace for empty whose content lies elsewhere. */
function assertLeavesOthers(
  { meaning: { operation, id }, stated, decided }: Settled,
  upstreams: Upstreams,
): void {
  if (operation.name === 'DropNamespace' && upstreams.leadsOnFrom(id)) {
    throw new InterfaceError(
      'NamespaceNotEmpty',
      'the namespace leads to another catalog, which stays where it is',
    )
  }
  if (operation.name === 'CreateNamespace' && stated.mode === 'overwrite') {
    if (upstreams.leadingOnFrom(id).length === 0) return
    throw new InterfaceError(
      'NamespaceAlreadyExists',
      'the namespace leads to another catalog, so it cannot be replaced',
    )
  }
  for (const { need } of decided) {
    if (need.kind === 'namespace' || !creations.has(need.permission) || !upstreams.leadsOnFrom(need.id))
      continue
    throw new InterfaceError(
      'TableAlreadyExists',
      `${show(need.id.join('.'))} is a namespace that leads to another catalog`,
    )
  }
}

/** The name that was sent is not forwarded; who means another database must not change this one. */
function assertDatabase(named: string | undefined, { database }: Upstream): void {
  if (database === undefined || named === undefined || named === database) return
  throw invalidInput(`${show(named)} is not the database that is served here`)
}
