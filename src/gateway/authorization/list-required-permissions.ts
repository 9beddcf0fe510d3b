import {
  assertIdentifier,
  assertName,
  getOperation,
  getRequirements,
  type Identifier,
  type Operation,
  refusal,
  type Requirement,
  type RequirementCondition,
  type RouteMatch,
  type StatedFacts,
} from '../../catalog-api/index.ts'
import { memoizeByObject } from '../../lib/index.ts'
import {
  type KnownFacts,
  listDestinations,
  objectKindOfPermission,
  operationFactsOf,
  requirementFacts,
} from '../../policy/index.ts'
import {
  listBatchPermissions,
  listWithheldPermissions,
  findIdMember,
  findMembers,
  findReferencedIds,
} from './batch-permissions.ts'
import { assertManifestPath } from '../facts/fact-values.ts'
import type { StartedWork } from '../sealed-tokens.ts'
import { getMember, type JsonObject } from '../facts/stated-facts.ts'
import type { RequiredPermission } from './required-permission.ts'
import type { Matched } from '../context.ts'

interface RequestBody {
  readonly members: JsonObject
  readonly job?: StartedWork | undefined
  /** Extension types of its columns whose values can refer to other objects. */
  readonly references?: readonly string[] | undefined
}

/**
 * Lists the permissions that a whole request requires, lazily. Throws InvalidInput (400) if the body does not identify
 * its objects, or if a staging manifest path is not valid.
 */
export function* listRequestPermissions(
  request: Matched,
  facts: KnownFacts,
  body: RequestBody,
): Generator<RequiredPermission, void, void> {
  const { operation } = request.route
  const { members, job } = body
  if (operation.namesJob) {
    yield* listJobPermissions(request, facts, members, job)
    return
  }
  assertRequiredFacts(request, facts.stated)
  yield* listHeadPermissions(request, facts, body)
  yield* listBatchPermissions(operation, members)
}

/**
 * A caller that started the job needs the permission to start it again; for other jobs, that of the operation at the
 * root. A filter could select the events of other jobs, because the upstream may join it unescaped.
 */
function* listJobPermissions(
  { route: { operation, id } }: Matched,
  facts: KnownFacts,
  members: JsonObject,
  job: StartedWork | undefined,
): Generator<RequiredPermission, void, void> {
  const own = operationPermission(operation, id, facts)
  if (job === undefined || getMember(members, 'filter') != null) {
    yield { ...own, fallback: undefined }
    return
  }
  yield own
  const started = getOperation(job.operation)
  const stated = job.branch === undefined ? {} : { branch: job.branch }
  yield {
    permission: job.operation,
    kind: started.object,
    id: job.id,
    facts: operationFactsOf(started, job.id, { stated }),
    requiredBy: 'the job',
  }
}

/** Whether the operation cannot be authorized without its body. */
export function requiresBody({ entries, namesJob, requiredFacts }: Operation): boolean {
  return entries !== undefined || namesJob || requiredFacts.length > 0
}

/** Whether the required permissions can depend on any member of the body, and not only on those that state facts. */
export const isDecidedByMembers: (operation: Operation) => boolean = memoizeByObject((operation) => {
  const { namesJob, facts } = operation
  const requirements = getRequirements(operation)
  return (
    namesJob ||
    requirements.some(
      ({ on, when = {} }) => typeof on === 'object' || 'member' in when || 'columns' in when,
    ) ||
    facts.some(([, sources]) => sources.some(({ in: part }) => part === 'body.query'))
  )
})

/**
 * The permission of the operation itself. A batch names no object in its route: its entries are authorized one by one.
 * A listing without a rule of its own is allowed to callers that may see something below the namespace.
 */
function operationPermission(operation: Operation, id: Identifier, facts: KnownFacts): RequiredPermission {
  const { name: permission, object: kind, unknownBranch } = operation
  // Otherwise the refusal would seem to concern the stated branch.
  const isByFact = unknownBranch !== undefined && unknownBranch !== 'always' && unknownBranch in facts.stated
  const requiredBy = isByFact ? `with ${unknownBranch}` : undefined
  const own = operationFactsOf(operation, id, facts)
  return { permission, kind, id, facts: own, requiredBy, fallback: fallbackFor(operation) }
}

function fallbackFor({ lists, entries, namesJob }: Operation): RequiredPermission['fallback'] {
  if (lists !== undefined) return 'visibility-decides'
  if (namesJob) return 'job-decides'
  return entries === undefined ? undefined : 'entries-decide'
}

/**
 * Lists the permissions that the operations table says that the route and the head of a request require, and its body if that
 * has been read; that of the operation first. Pending facts require nothing yet.
 */
export function listHeadPermissions(
  { route }: Pick<Matched, 'route'>,
  facts: KnownFacts,
  body?: RequestBody,
): readonly RequiredPermission[] {
  const { operation, id } = route
  const permissions = [operationPermission(operation, id, facts)]
  for (const requirement of getRequirements(operation)) {
    const { permission, when, isWithheld } = requirement
    if (when !== undefined && !applies(when, route, facts, body)) continue
    // Without credentials that it asks for, the request is refused.
    if (isWithheld && permissions.some((one) => one.permission === permission && one.id === id)) continue
    const requiredFacts = requirementFacts(requirement, operation, id, facts)
    const isByColumns = when !== undefined && 'columns' in when
    const requiredBy = isByColumns
      ? `columns of type ${body?.references?.join(', ')}`
      : requirement.requiredBy
    for (const target of listTargets(requirement, route, facts, body)) {
      permissions.push({ permission, facts: requiredFacts, requiredBy, ...target })
      // An extra operation may respond with the credentials of any object that it names.
      const isExtra = typeof requirement.on === 'object' && 'idMember' in requirement.on
      if (isExtra) permissions.push(...listWithheldPermissions(operation, target, {}))
    }
  }
  return permissions
}

function applies(
  when: RequirementCondition,
  { parameters }: RouteMatch,
  { stated }: KnownFacts,
  body: RequestBody | undefined,
): boolean {
  if ('fact' in when) {
    const value = stated[when.fact]
    return when.is === undefined ? value !== undefined && value !== false : value === when.is
  }
  if ('parameter' in when) return parameters.has(when.parameter)
  if (body === undefined) return false
  if ('columns' in when) return body.references !== undefined && body.references.length > 0
  return findMembers(body.members, when.member).length > 0
}

const root: Identifier = []

/** Lists the objects that the requirement concerns, with the parts of the required permission that differ by object. */
function* listTargets(
  { permission, on, isWithheld }: Requirement,
  { operation, id }: RouteMatch,
  { stated, pendingFacts }: KnownFacts,
  body: RequestBody | undefined,
): Generator<Pick<RequiredPermission, 'kind' | 'id'> & Partial<RequiredPermission>, void, void> {
  const { object } = operation
  if (on === 'itself') yield { kind: object, id, ...(isWithheld && { fallback: 'withheld' }) }
  else if (on === 'beneath') yield { kind: object, id, includesSubtree: true }
  else if (on === 'root') yield { kind: 'none', id: root }
  else if (on === 'source branch') {
    if (!pendingFacts?.has('sourceBranch')) yield { kind: object, id }
  } else if (on === 'destination') {
    for (const destination of listDestinations(id, stated.newNamespace, stated.newName ?? ''))
      yield { kind: object, id: assertIdentifier(destination) }
  } else if (body !== undefined) {
    const kind = objectKindOfPermission(permission)
    const named =
      'idMember' in on ? findIdMember(body.members, on.idMember) : findReferencedIds(body.members, on)
    for (const one of named) {
      if (one !== undefined) yield { kind, id: one, requiresWhole: true }
      else if ('member' in on) yield { permission: 'ReadAnyTable', kind: 'none', id: root }
    }
  }
}

/** Throws InvalidInput (400) if a request lacks a fact that it must state, or states one that no object can have. */
function assertRequiredFacts({ route }: Matched, { manifestPath, newName }: StatedFacts): void {
  const { requiredFacts, name } = route.operation
  if (requiredFacts.includes('manifestPath')) assertManifestPath(manifestPath, 'manifest_path')
  if (!requiredFacts.includes('newName')) return
  if (newName === undefined) throw refusal('invalid_body', `${name} requires "new_table_name" in the body`)
  assertName(newName, 'new_table_name')
}
