import { canonicalBranch, type FactName, type FactPlace, type StatedFacts } from '../interface/facts.ts'
import type { Identifier } from '../interface/identifiers.ts'
import { operationNamed, operations, type Operation, type OperationName } from '../interface/operations.ts'
import type { Permission } from '../interface/permissions.ts'
import { pending, unknown, type Fact } from './fact.ts'
import { noFacts, type OperationFacts } from './question.ts'

/** The facts that a request states, and those that it may still state in the part that is not read yet. */
export interface ReadFacts {
  readonly stated: StatedFacts
  readonly pending: ReadonlySet<FactName>
}

const none: ReadonlySet<FactName> = new Set()
const noProperties: ReadonlyMap<string, string> = new Map()

/** The facts of a request that states none. */
export const nothingStated: StatedFacts = Object.freeze({})
const nothingRead: ReadFacts = Object.freeze({ stated: nothingStated, pending: none })

/** Facts of a request of which all is known. */
export function knownFacts(stated: StatedFacts): ReadFacts {
  return stated === nothingStated ? nothingRead : { stated, pending: none }
}

/** The facts of a request whose head states none, and whose body has not been read. */
export const unreadFacts: (operation: Operation) => ReadFacts = remember((operation) => {
  const inBody = operation.facts.filter(([, places]) => places.some(isInBody))
  return Object.freeze({ stated: nothingStated, pending: new Set(inBody.map(([name]) => name)) })
})

/** Whether a fact may stand in a body; properties are a part of one. */
export function isInBody({ in: part }: FactPlace): boolean {
  return part !== 'query' && part !== 'header'
}

/** The facts of an operation on the object of a request, by what the request states. */
export function factsOfOperation(operation: Operation, id: Identifier, facts: ReadFacts): OperationFacts {
  // Most heads state nothing.
  if (facts === nothingRead) return silentFacts(operation)
  return facts === unreadFacts(operation) ? openFacts(operation) : createFacts(operation, id, facts)
}

/** The facts of storage credentials, which open every branch of a table. */
function factsOfCredentials(operation: Operation, id: Identifier, facts: ReadFacts): OperationFacts {
  if (facts === nothingRead) return silentCredentials(operation)
  return { ...factsOfOperation(operation, id, facts), branch: unknown }
}

const silentFacts = remember((operation) => createFacts(operation, [], nothingRead))
const openFacts = remember((operation) => createFacts(operation, [], unreadFacts(operation)))
const silentCredentials = remember((operation): OperationFacts => ({
  ...silentFacts(operation),
  branch: unknown,
}))

function remember<Value>(create: (operation: Operation) => Value): (operation: Operation) => Value {
  const known = new Map<Operation, Value>()
  return (operation) => {
    let value = known.get(operation)
    if (value === undefined) known.set(operation, (value = create(operation)))
    return value
  }
}

function createFacts(operation: Operation, id: Identifier, facts: ReadFacts): OperationFacts {
  const { stated } = facts
  const fact = <Name extends FactName, Value>(
    name: Name,
    absent: Value,
  ): Fact<NonNullable<StatedFacts[Name]> | Value> =>
    stated[name] ?? (facts.pending.has(name) ? pending : absent)
  return {
    mode: fact('mode', ''),
    behavior: fact('behavior', ''),
    branch: branchOf(operation, facts),
    tag: fact('tag', ''),
    destination: destinationOf(id, facts),
    manifestPath: fact('manifestPath', ''),
    location: fact('location', ''),
    metadata: fact('metadata', noProperties),
    properties: fact('properties', noProperties),
  }
}

/** The facts of a permission on an object, or on everything beneath it, as a test or a command states them. */
export function factsOfPermission(
  permission: Permission,
  id: Identifier,
  stated: StatedFacts,
  beneath = false,
): OperationFacts {
  if (beneath && (permission === 'DropTable' || permission === 'DropNamespace'))
    return factsBeneath(permission)
  const known = knownFacts(stated)
  if (permission === 'ReadAnyTable') return noFacts
  if (permission === 'OverwriteTable') return factsOfOverwrite(stated.branch ?? unknown)
  if (permission === 'VendCredentials') {
    return factsOfCredentials(operationNamed('DescribeTable'), id, known)
  }
  const isChoice = permission === 'ChooseLocation' || permission === 'ChooseStorage'
  return factsOfOperation(operationNamed(isChoice ? 'CreateTable' : permission), id, known)
}

/**
 * The facts of replacing a table: what it holds is not known, and neither is the branch unless the rows of one branch
 * are replaced.
 */
function factsOfOverwrite(branch: Fact<string>): OperationFacts {
  return { ...noFacts, mode: 'overwrite', branch, location: unknown, properties: unknown }
}

/** The facts of creating a table by moving one: it has the properties and the branches of its own. */
const factsOfMovedTable: OperationFacts = {
  ...noFacts,
  branch: unknown,
  location: unknown,
  properties: unknown,
}

/** The facts of an operation on something beneath a namespace that is dropped or replaced whole. */
export function factsBeneath(operation: OperationName): OperationFacts {
  const { facts, unknownBranch } = operationNamed(operation)
  const hasFact = new Set<string>(facts.map(([name]) => name))
  const entries = Object.entries(noFacts).map(([name, value]) => [name, hasFact.has(name) ? unknown : value])
  const beneath = { ...noFacts, ...(Object.fromEntries(entries) as Partial<OperationFacts>) }
  return unknownBranch === undefined ? beneath : { ...beneath, branch: unknown }
}

/**
 * The facts of a permission that a request needs besides that of its operation: on its own object, beneath it, or for
 * the destination of a move. Entries of batches have the facts of their own operation instead.
 */
export function factsOfFurtherNeed(
  permission: Permission,
  operation: Operation,
  id: Identifier,
  facts: ReadFacts,
): OperationFacts {
  const { name, object, unknownBranch } = operation
  const own = factsOfOperation(operation, id, facts)
  const isBeneath = permission === 'DropTable' || permission === 'DropNamespace'
  if (isBeneath && object === 'namespace') return factsBeneath(permission)
  if (permission === name) {
    const { branch } = factsOfOperation(operation, id, without(facts, unknownBranch))
    return { ...own, branch }
  }
  if (permission === 'OverwriteTable') {
    return factsOfOverwrite(name === 'InsertIntoTable' ? own.branch : unknown)
  }
  if (permission === 'ReadAnyTable') return noFacts
  if (permission === 'CreateTable') return factsOfMovedTable
  if (permission === 'VendCredentials') return factsOfCredentials(operation, id, facts)
  if (permission === 'DeleteFromTable') return { ...noFacts, branch: own.branch }
  if (permission === 'QueryTable') return { ...noFacts, branch: sourceBranchOf(facts) }
  return own
}

/** The permissions that a request may need on its own object besides that of its operation, by what it states. */
export function furtherPermissions({
  name,
  object,
  effect,
  facts,
  unknownBranch,
}: Operation): readonly Permission[] {
  const hasFact = new Set(facts.map(([fact]) => fact))
  const needs: readonly (readonly [Permission, boolean])[] = [
    ['OverwriteTable', hasFact.has('mode') && object === 'table'],
    [name, effect !== 'read' && unknownBranch !== undefined && unknownBranch !== 'always'],
    ['DeleteFromTable', hasFact.has('deletesUnmatched')],
    ['ChooseLocation', hasFact.has('location')],
    ['ChooseStorage', hasFact.has('storageOptions')],
    ['VendCredentials', hasFact.has('vendCredentials')],
    ['QueryTable', hasFact.has('sourceBranch')],
  ]
  return needs.filter(([, isNeeded]) => isNeeded).map(([permission]) => permission)
}

/** Whether a request may need permissions on other objects: beneath its own, elsewhere, at the root, or those of its entries. */
export function asksElsewhere({ object, facts, entries, readsAnyTable }: Operation): boolean {
  const names = facts.map(([fact]) => fact)
  const isWholeNamespace = object === 'namespace' && (names.includes('mode') || names.includes('behavior'))
  const isElsewhere = entries !== undefined || readsAnyTable !== undefined
  return isElsewhere || isWholeNamespace || names.includes('newName')
}

/** The facts of a permission as far as they are the same in every request; all others are pending. */
export function constantFacts(permission: Permission): OperationFacts {
  if (permission in operations) {
    const operation = operationNamed(permission as OperationName)
    const names = new Set(operation.facts.map(([name]) => name))
    const facts = factsOfOperation(operation, [], { stated: {}, pending: names })
    // A rename creates a table, too.
    return permission === 'CreateTable' ? { ...facts, branch: pending } : facts
  }
  if (permission === 'ReadAnyTable') return noFacts
  if (permission === 'OverwriteTable') return factsOfOverwrite(pending)
  const facts = { ...noFacts, ...allPending }
  return permission === 'VendCredentials' ? { ...facts, tag: pending, branch: unknown } : facts
}

/** The facts that conditions on a permission can depend on; any other is always empty. */
export function factsAvailableTo(permission: Permission): ReadonlySet<ConditionFact> {
  if (!(permission in operations)) return new Set(factsOfEffect[permission as Effect].available)
  const operation = operationNamed(permission as OperationName)
  const available = conditionFactsOf(operation)
  if (hasBranch(operation)) available.add('branch')
  return available
}

/** The facts of a permission that requests state; the others are the same in every request, or never known. */
export function factsStatedFor(permission: Permission): ReadonlySet<ConditionFact> {
  if (!(permission in operations)) return new Set(factsOfEffect[permission as Effect].stated)
  const operation = operationNamed(permission as OperationName)
  const stated = conditionFactsOf(operation)
  if (operation.unknownBranch === 'always') stated.delete('branch')
  return stated
}

/** Why the branch of a permission is not known if it is not. */
export function whyBranchIsUnknown(permission: Permission): string {
  const isOperation = permission in operations
  const isRead = isOperation && operationNamed(permission as OperationName).effect === 'read'
  return isRead ? 'that of the tag' : 'every branch'
}

/** The name of a fact in conditions. */
export type ConditionFact = keyof OperationFacts

type Effect = Exclude<Permission, OperationName>

const ofNewTables = {
  available: ['mode', 'branch', 'location', 'properties'],
  stated: ['mode', 'location', 'properties'],
} as const

/** The facts of the effects that hide in operations. */
const factsOfEffect: Readonly<
  Record<Effect, { readonly available: readonly ConditionFact[]; readonly stated: readonly ConditionFact[] }>
> = {
  OverwriteTable: { available: ofNewTables.available, stated: ['branch'] },
  ChooseLocation: ofNewTables,
  ChooseStorage: ofNewTables,
  ReadAnyTable: { available: [], stated: [] },
  VendCredentials: { available: ['branch', 'tag'], stated: ['tag'] },
}

const allPending: Pick<OperationFacts, 'mode' | 'branch' | 'location' | 'properties'> = {
  mode: pending,
  branch: pending,
  location: pending,
  properties: pending,
}

function conditionFactsOf({ facts }: Operation): Set<ConditionFact> {
  const names = facts.map(([name]) => (name === 'newName' ? 'destination' : name))
  return new Set(names.filter((name): name is ConditionFact => name in noFacts))
}

function without({ stated, pending: unread }: ReadFacts, name: Operation['unknownBranch']): ReadFacts {
  if (name === undefined || name === 'always') return { stated, pending: unread }
  const { [name]: _whole, ...others } = stated
  return { stated: others, pending: new Set([...unread].filter((fact) => fact !== name)) }
}

function sourceBranchOf({ stated, pending: unread }: ReadFacts): Fact<string> {
  return stated.sourceBranch ?? (unread.has('sourceBranch') ? pending : 'main')
}

function branchOf(operation: Operation, { stated, pending: unread }: ReadFacts): Fact<string> {
  const { unknownBranch } = operation
  if (unknownBranch === 'always') return unknown
  if (unknownBranch !== undefined && stated[unknownBranch] !== undefined) return unknown
  if (unknownBranch !== undefined && unread.has(unknownBranch)) return pending
  if (stated.branch === undefined && unread.has('branch')) return pending
  return hasBranch(operation) ? canonicalBranch(stated.branch) : ''
}

function hasBranch({ object }: Pick<Operation, 'object'>): boolean {
  return object === 'table' || object === 'materialized_view'
}

function destinationOf(id: Identifier, { stated, pending: unread }: ReadFacts): Fact<Identifier> {
  if (unread.has('newNamespace')) return pending
  if (stated.newName !== undefined) return [...(stated.newNamespace ?? id.slice(0, -1)), stated.newName]
  return unread.has('newName') ? pending : []
}
