import { refusal } from '../interface/errors.ts'
import { assertIdentifier, assertName, type Identifier } from '../interface/identifiers.ts'
import type { FactName, StatedFacts } from '../interface/facts.ts'
import type { Operation, OperationName } from '../interface/operations.ts'
import type { Permission } from '../interface/permissions.ts'
import {
  factsBeneath,
  factsOfFurtherNeed,
  factsOfOperation,
  factsOfPermission,
  nothingStated,
  type ReadFacts,
} from '../policy/operation-facts.ts'
import { batchNeeds } from './batch-needs.ts'
import { confineManifest } from './body/confine-manifest.ts'
import { spelled } from './body/spelling.ts'
import type { Members } from './facts/read-facts.ts'
import type { PermissionNeed } from './needs.ts'
import type { Matched } from './context.ts'

/** The operations whose response may carry storage credentials that nobody asked for. */
const vending: ReadonlySet<OperationName> = new Set([
  'DescribeTable',
  'DeclareTable',
  'CreateTable',
  'BatchCommitTables',
])

/**
 * The permissions that a request needs by its route and its head, the one of its operation first. Facts that are
 * pending ask for nothing yet.
 */
export function permissionsOfHead(
  { route: { operation, id } }: Matched,
  facts: ReadFacts,
): readonly PermissionNeed[] {
  const own = ownNeed(operation, id, facts)
  const isSilent = facts.stated === nothingStated && !asksInSilence.has(operation.name)
  const needs = isSilent ? [own] : [own, ...effects(operation, id, facts)]
  if (operation.readsAnyTable === 'always') needs.push(readingNeed('what it reads'))
  if (vending.has(operation.name) && facts.stated.vendCredentials !== true) {
    needs.push(credentialsNeed(operation, id, facts, 'withheld'))
  }
  return needs
}

/** The operations that need more than their own permission if they state nothing, too. */
const asksInSilence: ReadonlySet<OperationName> = new Set(['RegisterTable', 'CreateTableBranch'])

/**
 * The permissions that a whole request needs, each found when it is asked for. Throws InvalidInput (400) if the body
 * lacks what says on which objects, or if a staging manifest lies where none can.
 */
export function* permissionsOfRequest(
  request: Matched,
  facts: ReadFacts,
  members: Members,
): Generator<PermissionNeed, void, void> {
  const { operation } = request.route
  if (operation.name === 'CreateTableVersion') confineManifest(facts.stated.manifestPath, 'manifest_path')
  if (operation.name === 'RenameTable') assertNewName(facts.stated.newName)
  yield* permissionsOfHead(request, facts)
  const { readsAnyTable } = operation
  if (readsAnyTable !== undefined && readsAnyTable !== 'always' && holdsMember(members, readsAnyTable)) {
    yield readingNeed(readsAnyTable)
  }
  yield* batchNeeds(operation, members)
}

/** Whether an operation is refused without what its body says. */
export function needsBody({ name, entries }: Operation): boolean {
  return entries !== undefined || name === 'CreateTableVersion' || name === 'RenameTable'
}

/**
 * Whether a body is read whole before anything is sent: it can ask for more than the route says, or state a fact in
 * several places. (The properties of an update must stand before what is large.)
 */
export function isDecidedByBody(operation: Operation): boolean {
  const { body, facts, factsOfSeveralPlaces, entries, readsAnyTable, name } = operation
  if (body === 'arrow') return false
  if (body === 'map' || entries !== undefined || name === 'CreateTableVersion') return true
  if (readsAnyTable !== undefined && readsAnyTable !== 'always') return true
  return factsOfSeveralPlaces.length > 0 || facts.some(isAsking)
}

/** Whether a place that is no key of the properties can state a fact that asks for a permission. */
function isAsking([fact, places]: Operation['facts'][number]): boolean {
  return asking.has(fact) && places.some(({ in: part }) => part !== 'properties')
}

/** The facts that ask for a permission of their own. */
const asking: ReadonlySet<FactName> = new Set([
  'mode',
  'behavior',
  'location',
  'newName',
  'sourceBranch',
  'storageOptions',
  'vendCredentials',
])

/**
 * The operation itself. A batch names no object in its route: its entries are decided one by one. A listing needs no
 * rule of its own for callers that may see something beneath the namespace.
 */
function ownNeed(operation: Operation, id: Identifier, facts: ReadFacts): PermissionNeed {
  const own = factsOfOperation(operation, id, facts)
  const otherwise = otherwiseOf(operation)
  const { name: permission, object: kind } = operation
  if (otherwise !== undefined) return { permission, kind, id, facts: own, otherwise }
  const { unknownBranch } = operation
  // Without a word a refusal would look as if it were about the branch that is stated.
  const isByFact = unknownBranch !== undefined && unknownBranch !== 'always' && unknownBranch in facts.stated
  return { permission, kind, id, facts: own, ...(isByFact && { because: `with ${unknownBranch}` }) }
}

function otherwiseOf({ lists, object, effect }: Operation): PermissionNeed['otherwise'] {
  if (lists !== undefined) return 'what-is-visible'
  return object === 'none' && effect !== 'read' ? 'entries-decide' : undefined
}

/** What a request does besides what its operation says, by the facts that it states. */
function effects(operation: Operation, id: Identifier, facts: ReadFacts): PermissionNeed[] {
  const { name, object: kind, effect, unknownBranch } = operation
  const { stated } = facts
  const needs: PermissionNeed[] = []
  const need = (permission: Permission, because: string): void => {
    needs.push({
      permission,
      kind,
      id,
      facts: factsOfFurtherNeed(permission, operation, id, facts),
      because,
    })
  }
  if (stated.mode === 'overwrite' && kind === 'namespace')
    needs.push(...everythingBeneath(id, 'mode Overwrite'))
  if (stated.mode === 'overwrite' && kind === 'table') need('OverwriteTable', 'mode=overwrite')
  if (stated.behavior === 'cascade') needs.push(...everythingBeneath(id, 'behavior Cascade'))
  // A change of a whole table beside one of a branch needs both.
  if (effect !== 'read' && unknownBranch !== undefined && unknownBranch !== 'always') {
    if (stated[unknownBranch] !== undefined) need(name, 'its branch')
  }
  if (stated.deletesUnmatched === true) need('DeleteFromTable', 'when_not_matched_by_source_delete')
  if (stated.location !== undefined || name === 'RegisterTable') need('ChooseLocation', 'a location')
  if (stated.storageOptions !== undefined) need('ChooseStorage', 'storage_options')
  if (stated.vendCredentials === true) needs.push(credentialsNeed(operation, id, facts))
  if (name === 'CreateTableBranch' && !facts.pending.has('sourceBranch')) {
    need('QueryTable', 'the branch that is copied')
  }
  if (stated.newName !== undefined) {
    const destination = assertIdentifier([...(stated.newNamespace ?? id.slice(0, -1)), stated.newName])
    needs.push({
      permission: 'CreateTable',
      kind: 'table',
      id: destination,
      facts: factsOfFurtherNeed('CreateTable', operation, id, facts),
      because: 'the destination',
    })
  }
  return needs
}

function credentialsNeed(
  operation: Operation,
  id: Identifier,
  facts: ReadFacts,
  otherwise?: 'withheld',
): PermissionNeed {
  return {
    permission: 'VendCredentials',
    kind: operation.object,
    id,
    facts: factsOfFurtherNeed('VendCredentials', operation, id, facts),
    because: 'vend_credentials',
    ...(otherwise && { otherwise }),
  }
}

/** What SQL or code reads is known to nobody before it runs: to allow it in one namespace would open all others. */
function readingNeed(because: string): PermissionNeed {
  const permission = 'ReadAnyTable'
  return { permission, kind: 'none', id: [], facts: factsOfPermission(permission, [], {}), because }
}

/** Whether a JSON value has a member of that name, in any spelling and at any depth, that is not null. */
function holdsMember(value: unknown, name: string): boolean {
  if (typeof value !== 'object' || value === null) return false
  return Object.entries(value).some(
    ([key, inner]) => (inner !== null && spelled(key) === name) || holdsMember(inner, name),
  )
}

function everythingBeneath(id: Identifier, because: string): PermissionNeed[] {
  return (['DropTable', 'DropNamespace'] as const).map((permission) => ({
    permission,
    kind: 'namespace',
    id,
    facts: factsBeneath(permission),
    beneath: true,
    because,
  }))
}

function assertNewName(name: StatedFacts['newName']): void {
  if (name === undefined) throw refusal('invalid_body', 'RenameTable needs "new_table_name" in the body')
  assertName(name, 'new_table_name')
}
