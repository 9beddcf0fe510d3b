import { refusal } from '../../catalog-api/catalog-error.ts'
import { isExtraOperation } from '../../catalog-api/extra-operation.ts'
import { assertIdentifier, assertName, type Identifier } from '../../catalog-api/identifiers.ts'
import type { FactName, StatedFacts } from '../../catalog-api/facts.ts'
import { getOperation, type AnyOperationName, type Operation } from '../../catalog-api/operations.ts'
import type { Permission } from '../../catalog-api/permissions.ts'
import {
  subtreeFacts,
  additionalPermissionFacts,
  createKnownFacts,
  operationFactsOf,
  permissionFacts,
  noStatedFacts,
  type KnownFacts,
} from '../../policy/conditions/operation-facts.ts'
import { listBatchPermissions } from './batch-permissions.ts'
import { listIdMemberPermissions } from './id-member-permissions.ts'
import { assertManifestPath } from '../facts/manifest-path.ts'
import { foldMemberName } from '../facts/member-spelling.ts'
import type { StartedJob } from '../facts/started-jobs.ts'
import { getMember, type JsonObject } from '../facts/stated-facts.ts'
import type { RequiredPermission } from './required-permission.ts'
import type { Matched } from '../context.ts'

/** Operations whose response may contain storage credentials that the request did not ask for. */
const vendingOperations: ReadonlySet<AnyOperationName> = new Set([
  'DescribeTable',
  'DeclareTable',
  'CreateTable',
  'BatchCommitTables',
])

/**
 * Lists the permissions that the route and the head of a request require, that of the operation first. Pending facts
 * require nothing yet.
 */
export function listHeadPermissions(
  { route: { operation, id } }: Matched,
  facts: KnownFacts,
): readonly RequiredPermission[] {
  const own = operationPermission(operation, id, facts)
  const isSilent = facts.stated === noStatedFacts && !operationsWithImplicitPermissions.has(operation.name)
  const permissions = isSilent ? [own] : [own, ...listEffectPermissions(operation, id, facts)]
  if (operation.readsAnyTable === 'always') permissions.push(readAnyTablePermission('what it reads'))
  if (mayVendCredentials(operation) && facts.stated.vendCredentials !== true) {
    permissions.push(credentialsPermission(operation, id, facts, 'withheld'))
  }
  return permissions
}

/** Nothing is known of the JSON that extra operations return. */
function mayVendCredentials(operation: Operation): boolean {
  return (
    vendingOperations.has(operation.name) || (isExtraOperation(operation) && operation.response === 'json')
  )
}

/** Operations that require more than their own permission even if they state no facts. */
const operationsWithImplicitPermissions: ReadonlySet<AnyOperationName> = new Set([
  'RegisterTable',
  'CreateTableBranch',
])

/**
 * Lists the permissions that a whole request requires, lazily. Throws InvalidInput (400) if the body does not identify
 * its objects, or if a staging manifest path is not valid.
 */
export function* listRequestPermissions(
  request: Matched,
  facts: KnownFacts,
  { members, job }: { readonly members: JsonObject; readonly job?: StartedJob | undefined },
): Generator<RequiredPermission, void, void> {
  const { operation } = request.route
  if (operation.namesJob) {
    yield* listJobPermissions(request, facts, members, job)
    return
  }
  if (operation.name === 'CreateTableVersion') assertManifestPath(facts.stated.manifestPath, 'manifest_path')
  if (operation.name === 'RenameTable') assertNewName(facts.stated.newName, request.upstream)
  yield* listHeadPermissions(request, facts)
  const { readsAnyTable } = operation
  if (
    readsAnyTable !== undefined &&
    readsAnyTable !== 'always' &&
    hasMemberAtAnyDepth(members, readsAnyTable)
  ) {
    yield readAnyTablePermission(readsAnyTable)
  }
  yield* listBatchPermissions(operation, members)
  yield* listIdMemberPermissions(operation, members)
}

/**
 * A caller that started the job needs the permission to start it again; for other jobs, that of the operation at the
 * root. A filter could select the events of other jobs, because the upstream may join it unescaped.
 */
function* listJobPermissions(
  { route: { operation, id } }: Matched,
  facts: KnownFacts,
  members: JsonObject,
  job: StartedJob | undefined,
): Generator<RequiredPermission, void, void> {
  const { fallback, ...own } = operationPermission(operation, id, facts)
  if (job === undefined || getMember(members, 'filter') != null) {
    yield own
    return
  }
  yield { ...own, ...(fallback && { fallback }) }
  const started = getOperation(job.operation)
  const stated = job.branch === undefined ? noStatedFacts : { branch: job.branch }
  yield {
    permission: job.operation,
    kind: started.object,
    id: job.id,
    facts: operationFactsOf(started, job.id, createKnownFacts(stated)),
    requiredBy: 'the job',
  }
}

/** Whether the operation cannot be authorized without its body. */
export function requiresBody({ name, entries, namesJob }: Operation): boolean {
  return entries !== undefined || namesJob || name === 'CreateTableVersion' || name === 'RenameTable'
}

/**
 * Whether a body must be read completely before anything is forwarded, because it can require more than the route does,
 * or state a fact in several sources. (The properties of an update must precede large members.)
 */
export function isDecidedByBody(operation: Operation): boolean {
  const { body, facts, factsWithSeveralSources, entries, readsAnyTable, namesJob, idMembers, name } =
    operation
  if (body === 'arrow') return false
  if (body === 'map' || entries !== undefined || namesJob || name === 'CreateTableVersion') return true
  if (readsAnyTable !== undefined && readsAnyTable !== 'always') return true
  if (idMembers.size > 0) return true
  return factsWithSeveralSources.length > 0 || facts.some(canRequirePermission)
}

/** Whether a source outside the properties can state a fact that requires a permission. */
function canRequirePermission([fact, sources]: Operation['facts'][number]): boolean {
  return factsRequiringPermission.has(fact) && sources.some(({ in: part }) => part !== 'properties')
}

/** Facts that require a permission of their own. */
const factsRequiringPermission: ReadonlySet<FactName> = new Set([
  'mode',
  'behavior',
  'location',
  'newName',
  'sourceBranch',
  'storageOptions',
  'vendCredentials',
])

/**
 * The permission of the operation itself. A batch names no object in its route: its entries are authorized one by one.
 * A listing without a rule of its own is allowed to callers that may see something below the namespace.
 */
function operationPermission(operation: Operation, id: Identifier, facts: KnownFacts): RequiredPermission {
  const own = operationFactsOf(operation, id, facts)
  const fallback = fallbackFor(operation)
  const { name: permission, object: kind } = operation
  if (fallback !== undefined) return { permission, kind, id, facts: own, fallback }
  const { unknownBranch } = operation
  // Otherwise the refusal would seem to concern the stated branch.
  const isByFact = unknownBranch !== undefined && unknownBranch !== 'always' && unknownBranch in facts.stated
  return { permission, kind, id, facts: own, ...(isByFact && { requiredBy: `with ${unknownBranch}` }) }
}

function fallbackFor({ lists, entries, namesJob }: Operation): RequiredPermission['fallback'] {
  if (lists !== undefined) return 'visibility-decides'
  if (namesJob) return 'job-decides'
  return entries === undefined ? undefined : 'entries-decide'
}

/** Lists the permissions for the effects that the facts of a request state. */
function listEffectPermissions(
  operation: Operation,
  id: Identifier,
  facts: KnownFacts,
): RequiredPermission[] {
  const { name, object: kind, effect, unknownBranch } = operation
  const { stated } = facts
  const permissions: RequiredPermission[] = []
  const add = (permission: Permission, requiredBy: string): void => {
    permissions.push({
      permission,
      kind,
      id,
      facts: additionalPermissionFacts(permission, operation, id, facts),
      requiredBy,
    })
  }
  if (stated.mode === 'overwrite' && kind === 'namespace')
    permissions.push(...listDropPermissionsBelow(id, 'mode Overwrite'))
  if (stated.mode === 'overwrite' && kind === 'table') add('OverwriteTable', 'mode=overwrite')
  if (stated.behavior === 'cascade') permissions.push(...listDropPermissionsBelow(id, 'behavior Cascade'))
  // A change of a whole table together with one of a branch requires both permissions.
  if (effect !== 'read' && unknownBranch !== undefined && unknownBranch !== 'always') {
    if (stated[unknownBranch] !== undefined) add(name, 'its branch')
  }
  if (stated.deletesUnmatched === true) add('DeleteFromTable', 'when_not_matched_by_source_delete')
  if (stated.location !== undefined || name === 'RegisterTable') add('ChooseLocation', 'a location')
  if (stated.storageOptions !== undefined) add('ChooseStorage', 'storage_options')
  if (stated.vendCredentials === true) permissions.push(credentialsPermission(operation, id, facts))
  if (name === 'CreateTableBranch' && !facts.pendingFacts.has('sourceBranch')) {
    add('QueryTable', 'the branch that is copied')
  }
  if (stated.newName !== undefined) {
    // Its upstream, with its rule, is checked when all ids of the request are known.
    const destination = assertIdentifier(
      [...(stated.newNamespace ?? id.slice(0, -1)), stated.newName],
      'allowed',
    )
    permissions.push({
      permission: 'CreateTable',
      kind: 'table',
      id: destination,
      facts: additionalPermissionFacts('CreateTable', operation, id, facts),
      requiredBy: 'the destination',
    })
  }
  return permissions
}

function credentialsPermission(
  operation: Operation,
  id: Identifier,
  facts: KnownFacts,
  fallback?: 'withheld',
): RequiredPermission {
  return {
    permission: 'VendCredentials',
    kind: operation.object,
    id,
    facts: additionalPermissionFacts('VendCredentials', operation, id, facts),
    requiredBy: 'vend_credentials',
    ...(fallback && { fallback }),
  }
}

/** The tables that SQL or code reads are unknown before it runs: allowing it in one namespace would open all others. */
function readAnyTablePermission(requiredBy: string): RequiredPermission {
  const permission = 'ReadAnyTable'
  return { permission, kind: 'none', id: [], facts: permissionFacts(permission, [], {}), requiredBy }
}

/** Whether a JSON value contains a non-null member of that name, in any spelling and at any depth. */
function hasMemberAtAnyDepth(value: unknown, name: string): boolean {
  if (typeof value !== 'object' || value === null) return false
  return Object.entries(value).some(
    ([key, inner]) => (inner !== null && foldMemberName(key) === name) || hasMemberAtAnyDepth(inner, name),
  )
}

function listDropPermissionsBelow(id: Identifier, requiredBy: string): RequiredPermission[] {
  return (['DropTable', 'DropNamespace'] as const).map((permission): RequiredPermission => ({
    permission,
    kind: 'namespace',
    id,
    facts: subtreeFacts(permission),
    includesSubtree: true,
    requiredBy,
  }))
}

function assertNewName(name: StatedFacts['newName'], { quotesInNames }: Matched['upstream']): void {
  if (name === undefined) throw refusal('invalid_body', 'RenameTable requires "new_table_name" in the body')
  assertName(name, 'new_table_name', quotesInNames)
}
