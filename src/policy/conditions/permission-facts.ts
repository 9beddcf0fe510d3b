import type { Identifier } from '../../catalog-api/identifiers.ts'
import type { StatedFacts } from '../../catalog-api/facts.ts'
import { cacheByOperation, getRequirements, type Requirement } from '../../catalog-api/requirements.ts'
import {
  getOperation,
  isOperationName,
  operationNames,
  type Operation,
} from '../../catalog-api/operations.ts'
import {
  extraPermissions,
  isExtraOperationName,
  type EffectPermission,
  type Permission,
} from '../../catalog-api/permissions.ts'
import { conditionFacts, noFacts, type ConditionFact, type OperationFacts } from './authorization-request.ts'
import { pending, unknown, type Fact } from './fact.ts'
import {
  createKnownFacts,
  noStatedFacts,
  operationFactsOf,
  subtreeFacts,
  unknownFacts,
  type KnownFacts,
} from './operation-facts.ts'

/*
 * Facts of permissions. A permission has facts wherever the operations table requires it: of its own operation, and of
 * each operation that requires it besides.
 */

/** Facts of a permission that a request for the operation requires besides that of the operation. */
export function requirementFacts(
  { permission, on }: Requirement,
  operation: Operation,
  id: Identifier,
  facts: KnownFacts,
): OperationFacts {
  if (on === 'itself') return factsOnOwnObject(permission, operation, id, facts)
  if (on === 'source branch') return { ...noFacts, branch: sourceBranchFact(facts) }
  if (on === 'destination') return movedTableFacts
  if (on === 'beneath') return isOperationName(permission) ? subtreeFacts(permission) : unknownFacts
  // Nothing is known of what an extra operation does to the object.
  return typeof on === 'object' && 'idMember' in on ? unknownFacts : noFacts
}

function factsOnOwnObject(
  permission: Requirement['permission'],
  operation: Operation,
  id: Identifier,
  facts: KnownFacts,
): OperationFacts {
  const own = operationFactsOf(operation, id, facts)
  if (permission === operation.name) {
    const { branch } = operationFactsOf(operation, id, withoutFact(facts, operation.unknownBranch))
    return { ...own, branch }
  }
  if (isOperationName(permission)) return { ...noFacts, branch: own.branch }
  const { facts: kind } = extraPermissions[permission]
  if (kind === 'of the request') return own
  if (kind === 'of the request, for every branch') return everyBranchFacts(operation, id, facts)
  if (kind === 'branch of the request') return { ...noFacts, branch: own.branch }
  if (kind === 'of the replaced table')
    return replacedTableFacts(statesBranch(operation) ? own.branch : unknown)
  return noFacts
}

/** Credentials give access to every branch of a table, so the branch is unknown. */
function everyBranchFacts(operation: Operation, id: Identifier, facts: KnownFacts): OperationFacts {
  if (facts === noneStated) return everyBranchFactsIfNoneStated(operation)
  return { ...operationFactsOf(operation, id, facts), branch: unknown }
}

const noneStated = createKnownFacts(noStatedFacts)
const everyBranchFactsIfNoneStated = cacheByOperation((operation): OperationFacts => ({
  ...operationFactsOf(operation, [], noneStated),
  branch: unknown,
}))

/** The content is unknown, and so is the branch unless the rows of one branch are replaced. */
function replacedTableFacts(branch: Fact<string>): OperationFacts {
  return { ...noFacts, mode: 'overwrite', branch, location: unknown, properties: unknown }
}

/** A renamed table keeps its properties and branches, which are unknown. */
const movedTableFacts: OperationFacts = {
  ...noFacts,
  branch: unknown,
  location: unknown,
  properties: unknown,
}

/** Facts of every extra operation: what it does to a table is unknown, so it may change every branch. */
const extraOperationFacts: OperationFacts = Object.freeze({ ...noFacts, branch: unknown })

function statesBranch({ facts }: Operation): boolean {
  return facts.some(([fact]) => fact === 'branch')
}

function withoutFact({ stated, pendingFacts }: KnownFacts, name: Operation['unknownBranch']): KnownFacts {
  if (name === undefined || name === 'always') return { stated, pendingFacts }
  const { [name]: _whole, ...others } = stated
  return { stated: others, pendingFacts: new Set([...pendingFacts].filter((fact) => fact !== name)) }
}

function sourceBranchFact({ stated, pendingFacts }: KnownFacts): Fact<string> {
  return stated.sourceBranch ?? (pendingFacts.has('sourceBranch') ? pending : 'main')
}

/**
 * Facts of a permission on an object of its kind, in a request of which only the stated facts are known. `beneath` means
 * everything beneath the namespace `id`. A fact that not every request for an effect permission has counts as unknown.
 */
export function permissionFacts(
  permission: Permission,
  id: Identifier,
  stated: StatedFacts,
  beneath = false,
): OperationFacts {
  if (isExtraOperationName(permission)) return extraOperationFacts
  if (!isOperationName(permission)) return effectFacts(permission, stated)
  if (beneath && permissionsBeneath.has(permission)) return subtreeFacts(permission)
  return operationFactsOf(getOperation(permission), id, createKnownFacts(stated))
}

function effectFacts(permission: EffectPermission, stated: StatedFacts): OperationFacts {
  let facts = constantFacts(permission)
  const given: Partial<OperationFacts> = stated
  for (const name of conditionFacts) {
    if (facts[name] !== pending) continue
    const mayBeUnknown = factsWhereRequired(permission).some((one) => one[name] === unknown)
    facts = { ...facts, [name]: given[name] ?? (mayBeUnknown ? unknown : noFacts[name]) }
  }
  return facts
}

/** Permissions that some operation requires on everything beneath a namespace. */
const permissionsBeneath: ReadonlySet<Permission> = new Set(
  operationNames
    .flatMap((name) => getRequirements(getOperation(name)))
    .filter(({ on }) => on === 'beneath')
    .map(({ permission }) => permission),
)

/** Facts of a permission that are equal in every request; all others are pending. */
export function constantFacts(permission: Permission): OperationFacts {
  let facts = constantFactsByPermission.get(permission)
  if (facts === undefined) constantFactsByPermission.set(permission, (facts = mergeFacts(permission)))
  return facts
}

const constantFactsByPermission = new Map<Permission, OperationFacts>()

function mergeFacts(permission: Permission): OperationFacts {
  const [first = noFacts, ...others] = factsWhereRequired(permission)
  const facts: { -readonly [Name in ConditionFact]: OperationFacts[Name] } = { ...first }
  for (const name of conditionFacts) {
    if (others.some((one) => one[name] !== first[name])) facts[name] = pending
  }
  return facts
}

/** Facts that conditions on the permission can depend on; any other is always empty. */
export function factsAvailableFor(permission: Permission): ReadonlySet<ConditionFact> {
  const constant: OperationFacts = constantFacts(permission)
  return new Set(conditionFacts.filter((name) => constant[name] !== noFacts[name]))
}

/** Facts of the permission that requests state; the others are constant or always unknown. */
export function factsStatedFor(permission: Permission): ReadonlySet<ConditionFact> {
  const required = factsWhereRequired(permission)
  return new Set(conditionFacts.filter((name) => required.some((facts) => facts[name] === pending)))
}

/** Returns the operations whose requests state the mode and behavior of a permission: its own, or all that require an effect. */
export function operationsStating(permission: Permission): readonly Operation[] {
  if (isOperationName(permission)) return [getOperation(permission)]
  return operationNames
    .map(getOperation)
    .filter((operation) => getRequirements(operation).some((required) => required.permission === permission))
}

/** Facts of the permission in every operation that requires it, its own first; stated ones are pending. */
function factsWhereRequired(permission: Permission): readonly OperationFacts[] {
  if (isExtraOperationName(permission)) return [extraOperationFacts]
  return (factsByPermission ??= collectFacts()).get(permission) ?? []
}

let factsByPermission: ReadonlyMap<Permission, readonly OperationFacts[]> | undefined

function collectFacts(): ReadonlyMap<Permission, readonly OperationFacts[]> {
  const found = new Map<Permission, OperationFacts[]>()
  const add = (permission: Permission, facts: OperationFacts): void => {
    found.set(permission, [...(found.get(permission) ?? []), facts])
  }
  const operations = operationNames.map(getOperation)
  for (const operation of operations)
    add(operation.name, operationFactsOf(operation, [], allPending(operation)))
  for (const operation of operations) {
    for (const requirement of getRequirements(operation)) {
      add(requirement.permission, requirementFacts(requirement, operation, [], allPending(operation)))
    }
  }
  return found
}

function allPending({ facts }: Operation): KnownFacts {
  return { stated: {}, pendingFacts: new Set(facts.map(([name]) => name)) }
}
