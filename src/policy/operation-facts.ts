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
export function factsOfCredentials(operation: Operation, id: Identifier, facts: ReadFacts): OperationFacts {
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
export function factsOfOverwrite(branch: Fact<string>): OperationFacts {
  return { ...noFacts, mode: 'overwrite', branch, location: unknown, properties: unknown }
}

/** The facts of creating a table by moving one: it has the properties and the branches of its own. */
export const factsOfMovedTable: OperationFacts = {
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

/** The facts that conditions on a permission can depend on; any other is always empty. */
export function factsAvailableTo(permission: Permission): ReadonlySet<keyof OperationFacts> {
  if (!(permission in operations)) return new Set(factsOfEffect[permission as keyof typeof factsOfEffect])
  const operation = operationNamed(permission as OperationName)
  const names = operation.facts.map(([name]) => (name === 'newName' ? 'destination' : name))
  const available = new Set(names.filter((name): name is keyof OperationFacts => name in noFacts))
  if (hasBranch(operation)) available.add('branch')
  return available
}

const factsOfEffect = {
  OverwriteTable: ['mode', 'branch', 'location', 'properties'],
  ChooseLocation: ['mode', 'branch', 'location', 'properties'],
  ChooseStorage: ['mode', 'branch', 'location', 'properties'],
  VendCredentials: ['branch', 'tag'],
} as const satisfies Record<Exclude<Permission, OperationName>, readonly (keyof OperationFacts)[]>

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
  if (stated.newName !== undefined) return [...(stated.newNamespace ?? id.slice(0, -1)), stated.newName]
  return unread.has('newName') ? pending : []
}
