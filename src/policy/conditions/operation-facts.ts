import {
  canonicalizeBranch,
  type FactName,
  type FactSource,
  type StatedFacts,
} from '../../catalog-api/facts.ts'
import type { Identifier } from '../../catalog-api/identifiers.ts'
import {
  getOperation,
  isOperationName,
  type Operation,
  type OperationName,
} from '../../catalog-api/operations.ts'
import {
  isExtraOperationName,
  type EffectPermission,
  type Permission,
} from '../../catalog-api/permissions.ts'
import { pending, unknown, type Fact } from './fact.ts'
import { isConditionFact, noFacts, type ConditionFact, type OperationFacts } from './authorization-request.ts'

/** Facts stated by a request, and facts that its unread part may still state. */
export interface KnownFacts {
  readonly stated: StatedFacts
  readonly pendingFacts: ReadonlySet<FactName>
}

const noFactNames: ReadonlySet<FactName> = new Set()
const noProperties: ReadonlyMap<string, string> = new Map()

export const noStatedFacts: StatedFacts = Object.freeze({})
const noKnownFacts: KnownFacts = Object.freeze({ stated: noStatedFacts, pendingFacts: noFactNames })

export function createKnownFacts(stated: StatedFacts): KnownFacts {
  return stated === noStatedFacts ? noKnownFacts : { stated, pendingFacts: noFactNames }
}

/** Facts of a request whose head states none and whose body has not been read. */
export const factsBeforeBody: (operation: Operation) => KnownFacts = cacheByOperation((operation) => {
  const inBody = operation.facts.filter(([, sources]) => sources.some(isBodyFact))
  return Object.freeze({ stated: noStatedFacts, pendingFacts: new Set(inBody.map(([name]) => name)) })
})

/** Whether a fact is read from the body; properties are part of the body. */
export function isBodyFact(source: FactSource): boolean {
  return source.in !== 'query' && source.in !== 'header'
}

export function operationFactsOf(operation: Operation, id: Identifier, facts: KnownFacts): OperationFacts {
  // Fast path: most heads state no facts.
  if (facts === noKnownFacts) return factsIfNoneStated(operation)
  return facts === factsBeforeBody(operation)
    ? factsIfBodyPending(operation)
    : createFacts(operation, id, facts)
}

/** Credentials give access to every branch of a table, so the branch is unknown. */
function credentialFacts(operation: Operation, id: Identifier, facts: KnownFacts): OperationFacts {
  if (facts === noKnownFacts) return credentialFactsIfNoneStated(operation)
  return { ...operationFactsOf(operation, id, facts), branch: unknown }
}

const factsIfNoneStated = cacheByOperation((operation) => createFacts(operation, [], noKnownFacts))
const factsIfBodyPending = cacheByOperation((operation) =>
  createFacts(operation, [], factsBeforeBody(operation)),
)
const credentialFactsIfNoneStated = cacheByOperation((operation): OperationFacts => ({
  ...factsIfNoneStated(operation),
  branch: unknown,
}))

function cacheByOperation<Value>(create: (operation: Operation) => Value): (operation: Operation) => Value {
  const known = new Map<Operation, Value>()
  return (operation) => {
    let value = known.get(operation)
    if (value === undefined) known.set(operation, (value = create(operation)))
    return value
  }
}

function createFacts(operation: Operation, id: Identifier, facts: KnownFacts): OperationFacts {
  const { stated } = facts
  const fact = <Name extends FactName, Value>(
    name: Name,
    absent: Value,
  ): Fact<NonNullable<StatedFacts[Name]> | Value> =>
    stated[name] ?? (facts.pendingFacts.has(name) ? pending : absent)
  return {
    mode: fact('mode', ''),
    behavior: fact('behavior', ''),
    branch: branchFact(operation, facts),
    tag: fact('tag', ''),
    destination: destinationFact(id, facts),
    manifestPath: fact('manifestPath', ''),
    location: fact('location', ''),
    metadata: fact('metadata', noProperties),
    properties: fact('properties', noProperties),
  }
}

/** Facts of a permission on an object of which a request only states the id. */
export const unknownFacts: OperationFacts = Object.freeze({
  mode: unknown,
  behavior: unknown,
  branch: unknown,
  tag: unknown,
  destination: unknown,
  manifestPath: unknown,
  location: unknown,
  metadata: unknown,
  properties: unknown,
})

/** Facts of every extra operation: what it does to a table is unknown, so it may change every branch. */
const extraOperationFacts: OperationFacts = Object.freeze({ ...noFacts, branch: unknown })

/** `beneath` means everything beneath the namespace `id`. */
export function permissionFacts(
  permission: Permission,
  id: Identifier,
  stated: StatedFacts,
  beneath = false,
): OperationFacts {
  if (isExtraOperationName(permission)) return extraOperationFacts
  if (beneath && (permission === 'DropTable' || permission === 'DropNamespace'))
    return subtreeFacts(permission)
  const known = createKnownFacts(stated)
  if (permission === 'ReadAnyTable') return noFacts
  if (permission === 'OverwriteTable') return overwriteFacts(stated.branch ?? unknown)
  if (permission === 'VendCredentials') {
    return credentialFacts(getOperation('DescribeTable'), id, known)
  }
  const isChoice = permission === 'ChooseLocation' || permission === 'ChooseStorage'
  return operationFactsOf(getOperation(isChoice ? 'CreateTable' : permission), id, known)
}

/** The content is unknown, and so is the branch unless the rows of one branch are replaced. */
function overwriteFacts(branch: Fact<string>): OperationFacts {
  return { ...noFacts, mode: 'overwrite', branch, location: unknown, properties: unknown }
}

/** A renamed table keeps its properties and branches, which are unknown. */
const movedTableFacts: OperationFacts = {
  ...noFacts,
  branch: unknown,
  location: unknown,
  properties: unknown,
}

/** Facts of an operation on an object beneath a namespace that is dropped or replaced as a whole. */
export function subtreeFacts(operation: OperationName): OperationFacts {
  const { facts, unknownBranch } = getOperation(operation)
  const beneath: { -readonly [Name in ConditionFact]: OperationFacts[Name] } = { ...noFacts }
  for (const [name] of facts) if (isConditionFact(name)) beneath[name] = unknown
  if (unknownBranch !== undefined) beneath.branch = unknown
  return beneath
}

/**
 * Facts of a permission required in addition to that of the operation. Batch entries use the facts of their own
 * operation.
 */
export function additionalPermissionFacts(
  permission: Permission,
  operation: Operation,
  id: Identifier,
  facts: KnownFacts,
): OperationFacts {
  const { name, object, unknownBranch } = operation
  const own = operationFactsOf(operation, id, facts)
  if (permission === name) {
    const { branch } = operationFactsOf(operation, id, withoutFact(facts, unknownBranch))
    return { ...own, branch }
  }
  if (isExtraOperationName(permission)) return extraOperationFacts
  const isBeneath = permission === 'DropTable' || permission === 'DropNamespace'
  if (isBeneath && object === 'namespace') return subtreeFacts(permission)
  if (permission === 'OverwriteTable') {
    return overwriteFacts(name === 'InsertIntoTable' ? own.branch : unknown)
  }
  if (permission === 'ReadAnyTable') return noFacts
  if (permission === 'CreateTable') return movedTableFacts
  if (permission === 'VendCredentials') return credentialFacts(operation, id, facts)
  if (permission === 'DeleteFromTable') return { ...noFacts, branch: own.branch }
  if (permission === 'QueryTable') return { ...noFacts, branch: sourceBranchFact(facts) }
  return own
}

/** Permissions that a request may require on its own object, depending on what it states. */
export function additionalPermissions({
  name,
  object,
  effect,
  facts,
  unknownBranch,
}: Operation): readonly Permission[] {
  const hasFact = new Set(facts.map(([fact]) => fact))
  const permissions: readonly (readonly [Permission, boolean])[] = [
    ['OverwriteTable', hasFact.has('mode') && object === 'table'],
    [name, effect !== 'read' && unknownBranch !== undefined && unknownBranch !== 'always'],
    ['DeleteFromTable', hasFact.has('deletesUnmatched')],
    ['ChooseLocation', hasFact.has('location')],
    ['ChooseStorage', hasFact.has('storageOptions')],
    ['VendCredentials', hasFact.has('vendCredentials')],
    ['QueryTable', hasFact.has('sourceBranch')],
  ]
  return permissions.filter(([, isNeeded]) => isNeeded).map(([permission]) => permission)
}

/** Whether a request may require permissions beneath its object, at a destination, at the root or for batch entries. */
export function mayRequireOtherObjects({ object, facts, entries, readsAnyTable }: Operation): boolean {
  const names = facts.map(([fact]) => fact)
  const isWholeNamespace = object === 'namespace' && (names.includes('mode') || names.includes('behavior'))
  const isElsewhere = entries !== undefined || readsAnyTable !== undefined
  return isElsewhere || isWholeNamespace || names.includes('newName')
}

/** Facts of a permission that are equal in every request; all others are pending. */
export function constantFacts(permission: Permission): OperationFacts {
  if (isExtraOperationName(permission)) return extraOperationFacts
  if (isOperationName(permission)) {
    const operation = getOperation(permission)
    const names = new Set(operation.facts.map(([name]) => name))
    const facts = operationFactsOf(operation, [], { stated: {}, pendingFacts: names })
    // A rename requires CreateTable too, with another branch fact.
    return permission === 'CreateTable' ? { ...facts, branch: pending } : facts
  }
  if (permission === 'ReadAnyTable') return noFacts
  if (permission === 'OverwriteTable') return overwriteFacts(pending)
  const facts = { ...noFacts, ...allPending }
  return permission === 'VendCredentials' ? { ...facts, tag: pending, branch: unknown } : facts
}

/** Facts that conditions on the permission can depend on; any other is always empty. */
export function factsAvailableFor(permission: Permission): ReadonlySet<ConditionFact> {
  if (isExtraOperationName(permission)) return new Set(['branch'])
  if (!isOperationName(permission)) return new Set(effectFacts[permission].available)
  const operation = getOperation(permission)
  const available = conditionFactNames(operation)
  if (hasBranch(operation)) available.add('branch')
  return available
}

/** Facts of the permission that requests state; the others are constant or always unknown. */
export function factsStatedFor(permission: Permission): ReadonlySet<ConditionFact> {
  if (isExtraOperationName(permission)) return new Set()
  if (!isOperationName(permission)) return new Set(effectFacts[permission].stated)
  const operation = getOperation(permission)
  const stated = conditionFactNames(operation)
  if (operation.unknownBranch === 'always') stated.delete('branch')
  return stated
}

const newTableFacts = {
  available: ['mode', 'branch', 'location', 'properties'],
  stated: ['mode', 'location', 'properties'],
} as const

const effectFacts: Readonly<
  Record<
    EffectPermission,
    { readonly available: readonly ConditionFact[]; readonly stated: readonly ConditionFact[] }
  >
> = {
  OverwriteTable: { available: newTableFacts.available, stated: ['branch'] },
  ChooseLocation: newTableFacts,
  ChooseStorage: newTableFacts,
  ReadAnyTable: { available: [], stated: [] },
  VendCredentials: { available: ['branch', 'tag'], stated: ['tag'] },
}

const allPending: Pick<OperationFacts, 'mode' | 'branch' | 'location' | 'properties'> = {
  mode: pending,
  branch: pending,
  location: pending,
  properties: pending,
}

function conditionFactNames({ facts }: Operation): Set<ConditionFact> {
  const names = facts.map(([name]) => (name === 'newName' ? 'destination' : name))
  return new Set(names.filter(isConditionFact))
}

function withoutFact({ stated, pendingFacts }: KnownFacts, name: Operation['unknownBranch']): KnownFacts {
  if (name === undefined || name === 'always') return { stated, pendingFacts }
  const { [name]: _whole, ...others } = stated
  return { stated: others, pendingFacts: new Set([...pendingFacts].filter((fact) => fact !== name)) }
}

function sourceBranchFact({ stated, pendingFacts }: KnownFacts): Fact<string> {
  return stated.sourceBranch ?? (pendingFacts.has('sourceBranch') ? pending : 'main')
}

function branchFact(operation: Operation, { stated, pendingFacts }: KnownFacts): Fact<string> {
  const { unknownBranch } = operation
  if (unknownBranch === 'always') return unknown
  if (unknownBranch !== undefined && stated[unknownBranch] !== undefined) return unknown
  if (unknownBranch !== undefined && pendingFacts.has(unknownBranch)) return pending
  if (stated.branch === undefined && pendingFacts.has('branch')) return pending
  return hasBranch(operation) ? canonicalizeBranch(stated.branch) : ''
}

function hasBranch({ object }: Pick<Operation, 'object'>): boolean {
  return object === 'table' || object === 'materialized_view'
}

function destinationFact(id: Identifier, { stated, pendingFacts }: KnownFacts): Fact<Identifier> {
  if (pendingFacts.has('newNamespace')) return pending
  if (stated.newName !== undefined) return [...(stated.newNamespace ?? id.slice(0, -1)), stated.newName]
  return pendingFacts.has('newName') ? pending : []
}
