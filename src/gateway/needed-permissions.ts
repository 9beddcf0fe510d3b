import { invalidInput } from '../interface/errors.ts'
import { assertIdentifier, assertName, type Identifier } from '../interface/identifiers.ts'
import { canonicalBranch, type FactName, type StatedFacts } from '../interface/facts.ts'
import type { Operation, OperationName } from '../interface/operations.ts'
import type { Permission } from '../interface/permissions.ts'
import { unknown } from '../policy/fact.ts'
import {
  factsBeneath,
  factsOfMovedTable,
  factsOfOperation,
  factsOfOverwrite,
  knownFacts,
  type ReadFacts,
} from '../policy/operation-facts.ts'
import { noFacts, type OperationFacts } from '../policy/question.ts'
import { batchNeeds } from './batch-needs.ts'
import { confineManifest } from './body/confine-manifest.ts'
import type { Members } from './facts/read-facts.ts'
import type { PermissionNeed } from './needs.ts'
import type { Matched } from './stages.ts'

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
  { meaning: { operation, id } }: Matched,
  facts: ReadFacts,
): readonly PermissionNeed[] {
  const needs = [ownNeed(operation, id, facts), ...effects(operation, id, facts)]
  if (vending.has(operation.name) && facts.stated.vendCredentials !== true) {
    needs.push({ ...credentialsNeed(operation, id, facts), otherwise: 'withheld' })
  }
  return needs
}

/**
 * The permissions that a whole request needs. Throws InvalidInput (400) if the body lacks what says on which objects,
 * or if a staging manifest lies where none can.
 */
export function permissionsOfRequest(
  request: Matched,
  stated: StatedFacts,
  members: Members,
): readonly PermissionNeed[] {
  const { operation } = request.meaning
  if (operation.name === 'CreateTableVersion') confineManifest(stated.manifestPath, 'manifest_path')
  if (operation.name === 'RenameTable') assertNewName(stated.newName)
  return [...permissionsOfHead(request, knownFacts(stated)), ...batchNeeds(operation, members)]
}

/**
 * Whether a body is read whole before anything is sent: it can ask for more than the route says, or state a fact in
 * several places. (The properties of an update must stand before what is large.)
 */
export function isDecidedByBody({ body, facts, entries, name }: Operation): boolean {
  if (body === 'arrow') return false
  if (body === 'map' || entries !== undefined || name === 'CreateTableVersion') return true
  return facts.some(([fact, places]) => {
    const stating = places.filter(({ in: part }) => part !== 'properties')
    return stating.length > 1 || (stating.length > 0 && asking.has(fact))
  })
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
  const need: PermissionNeed = {
    permission: operation.name,
    kind: operation.object,
    id,
    facts: factsOfOperation(operation, id, facts),
  }
  if (operation.lists !== undefined) return { ...need, otherwise: 'what-is-visible' }
  const isBatch = operation.object === 'none' && operation.effect !== 'read'
  return isBatch ? { ...need, otherwise: 'entries-decide' } : need
}

/** What a request does besides what its operation says, by the facts that it states. */
function effects(operation: Operation, id: Identifier, facts: ReadFacts): PermissionNeed[] {
  const { name, object: kind, effect, unknownBranch } = operation
  const { stated } = facts
  const own = (): OperationFacts => factsOfOperation(operation, id, facts)
  const needs: PermissionNeed[] = []
  const need = (permission: Permission, factsOfNeed: OperationFacts, because: string): void => {
    needs.push({ permission, kind, id, facts: factsOfNeed, because })
  }
  if (stated.mode === 'overwrite' && kind === 'namespace')
    needs.push(...everythingBeneath(id, 'mode Overwrite'))
  if (stated.mode === 'overwrite' && kind === 'table') {
    const branch = name === 'InsertIntoTable' ? own().branch : unknown
    need('OverwriteTable', factsOfOverwrite(branch), 'mode=overwrite')
  }
  if (stated.behavior === 'cascade') needs.push(...everythingBeneath(id, 'behavior Cascade'))
  // A change of a whole table beside one of a branch needs both.
  if (effect !== 'read' && unknownBranch !== undefined && unknownBranch !== 'always') {
    const isWhole = stated[unknownBranch] !== undefined
    if (isWhole) need(name, { ...own(), branch: canonicalBranch(stated.branch) }, 'its branch')
  }
  if (stated.deletesUnmatched === true) {
    need('DeleteFromTable', { ...noFacts, branch: own().branch }, 'when_not_matched_by_source_delete')
  }
  if (stated.location !== undefined || name === 'RegisterTable') need('ChooseLocation', own(), 'a location')
  if (stated.storageOptions !== undefined) need('ChooseStorage', own(), 'storage_options')
  if (stated.vendCredentials === true) needs.push(credentialsNeed(operation, id, facts))
  if (name === 'CreateTableBranch' && !facts.pending.has('sourceBranch')) {
    need('QueryTable', { ...noFacts, branch: stated.sourceBranch ?? 'main' }, 'the branch that is copied')
  }
  if (stated.newName !== undefined) {
    const destination = assertIdentifier([...(stated.newNamespace ?? id.slice(0, -1)), stated.newName])
    needs.push({
      permission: 'CreateTable',
      kind: 'table',
      id: destination,
      facts: factsOfMovedTable,
      because: 'the destination',
    })
  }
  return needs
}

/** Credentials open the storage of a table, and so every branch of it. */
function credentialsNeed(
  { object, ...operation }: Operation,
  id: Identifier,
  facts: ReadFacts,
): PermissionNeed {
  return {
    permission: 'VendCredentials',
    kind: object,
    id,
    facts: { ...factsOfOperation({ object, ...operation }, id, facts), branch: unknown },
    because: 'vend_credentials',
  }
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
  if (name === undefined) throw invalidInput('RenameTable needs "new_table_name" in the body')
  assertName(name, 'new_table_name')
}
