import {
  canonicalizeBranch,
  canonicalizeWord,
  extraPermissions,
  type FactName,
  getOperation,
  getRequirements,
  type Identifier,
  isExtraOperationName,
  isOperationName,
  type Operation,
  type OperationName,
  operationNames,
  type Permission,
  type Requirement,
  type StatedFacts,
} from '../../catalog-api/index.ts'
import { groupBy } from '../../lib/index.ts'
import {
  type ConditionFact,
  conditionFacts,
  type Fact,
  isConditionFact,
  noFacts,
  type OperationFacts,
  pending,
  unknown,
} from './authorization-request.ts'

/** Facts stated by a request, and facts that its unread part may still state. */
export interface KnownFacts {
  readonly stated: StatedFacts
  readonly pendingFacts?: ReadonlySet<FactName>
}

function readFact<Name extends FactName, Absent>(
  { stated, pendingFacts }: KnownFacts,
  name: Name,
  absent: Absent,
): Fact<NonNullable<StatedFacts[Name]> | Absent> {
  return stated[name] ?? (pendingFacts?.has(name) ? pending : absent)
}

export function operationFactsOf(operation: Operation, id: Identifier, facts: KnownFacts): OperationFacts {
  return {
    mode: readFact(facts, 'mode', ''),
    behavior: readFact(facts, 'behavior', ''),
    branch: branchFact(operation, facts),
    tag: readFact(facts, 'tag', ''),
    destination: destinationFact(id, facts),
    manifestPath: readFact(facts, 'manifestPath', ''),
    location: readFact(facts, 'location', ''),
    metadata: readFact(facts, 'metadata', noFacts.metadata),
    properties: readFact(facts, 'properties', noFacts.properties),
  }
}

function branchFact(operation: Operation, facts: KnownFacts): Fact<string> {
  const { unknownBranch } = operation
  if (unknownBranch === 'always') return unknown
  const onOtherBranches = unknownBranch && readFact(facts, unknownBranch, undefined)
  if (onOtherBranches === pending) return pending
  return onOtherBranches === undefined ? statedBranchFact(operation, facts) : unknown
}

function statedBranchFact({ object }: Operation, facts: KnownFacts): Fact<string> {
  const branch = readFact(facts, 'branch', undefined)
  if (typeof branch === 'symbol') return branch
  return object === 'table' || object === 'materialized_view' ? canonicalizeBranch(branch) : ''
}

function destinationFact(id: Identifier, facts: KnownFacts): Fact<Identifier> {
  const newNamespace = readFact(facts, 'newNamespace', undefined)
  const newName = readFact(facts, 'newName', undefined)
  if (typeof newNamespace === 'symbol' || typeof newName === 'symbol') return pending
  if (newName === undefined) return noFacts.destination
  const [destination, ...others] = listDestinations(id, newNamespace, newName)
  return others.length > 0 || destination === undefined ? unknown : destination
}

/**
 * Lists the ids that a rename may lead to. An empty list of names is the root for some upstreams; for others it is as
 * good as absent, as in generated clients, which send it for that.
 */
export function listDestinations(
  id: Identifier,
  newNamespace: Identifier | undefined,
  newName: string,
): readonly Identifier[] {
  const own = id.slice(0, -1)
  if (newNamespace === undefined) return [[...own, newName]]
  const stated = [...newNamespace, newName]
  return newNamespace.length > 0 || own.length === 0 ? [stated] : [stated, [...own, newName]]
}

function replaceFacts(
  facts: OperationFacts,
  names: readonly string[],
  value: typeof unknown | typeof pending,
): OperationFacts {
  const replaced: { -readonly [Name in ConditionFact]: OperationFacts[Name] } = { ...facts }
  for (const name of names) if (isConditionFact(name)) replaced[name] = value
  return replaced
}

const unknownFacts = replaceFacts(noFacts, conditionFacts, unknown)

/** Facts of a table that is there already, such as a renamed one: its properties and branches are unknown. */
const tableFacts = replaceFacts(noFacts, ['branch', 'location', 'properties'], unknown)

/** Facts of every extra operation: its effect on a table is unknown, so it may change every branch. */
const extraOperationFacts = replaceFacts(noFacts, ['branch'], unknown)

/** Facts of an operation on an object beneath a namespace that is dropped or replaced as a whole. */
function subtreeFacts(operation: OperationName): OperationFacts {
  const { facts, unknownBranch } = getOperation(operation)
  const names = facts.map(([name]) => name)
  return replaceFacts(noFacts, unknownBranch === undefined ? names : [...names, 'branch'], unknown)
}

/** Facts of a permission that a request for the operation requires besides that of the operation. */
export function requirementFacts(
  { permission, on }: Requirement,
  operation: Operation,
  id: Identifier,
  facts: KnownFacts,
): OperationFacts {
  if (on === 'source branch') return { ...noFacts, branch: readFact(facts, 'sourceBranch', 'main') }
  if (on === 'destination') return tableFacts
  if (on === 'beneath') return isOperationName(permission) ? subtreeFacts(permission) : unknownFacts
  // The effect of an extra operation on the object is unknown.
  if (on !== 'itself') return typeof on === 'object' && 'idMember' in on ? unknownFacts : noFacts
  const own = operationFactsOf(operation, id, facts)
  // It is required again for the stated branch alone.
  if (permission === operation.name) return { ...own, branch: statedBranchFact(operation, facts) }
  const ofBranch: OperationFacts = { ...noFacts, branch: own.branch }
  if (isOperationName(permission)) return ofBranch
  const { facts: kind } = extraPermissions[permission]
  if (kind === 'of the request') return own
  if (kind === 'of the request, for every branch') return { ...own, branch: unknown }
  if (kind === 'branch of the request') return ofBranch
  if (kind === 'none') return noFacts
  // The content is unknown, and so is the branch unless the rows of one branch are replaced.
  const branch: Fact<string> = operation.facts.some(([fact]) => fact === 'branch') ? own.branch : unknown
  return { ...tableFacts, mode: 'overwrite', branch }
}

/**
 * Facts of a permission on an object of its kind, if only the stated facts of the request are known. `beneath` means
 * everything beneath the namespace `id`. A fact that not every request for an effect permission has counts as unknown.
 */
export function permissionFacts(
  permission: Permission,
  id: Identifier,
  stated: StatedFacts,
  beneath = false,
): OperationFacts {
  if (isExtraOperationName(permission)) return extraOperationFacts
  const required = listFactsOf(permission)
  if (!isOperationName(permission)) {
    const known: Partial<OperationFacts> = stated
    const constant = constantFacts(permission)
    return conditionFacts.reduce((facts, name) => {
      if (constant[name] !== pending) return facts
      const absent = required.some((one) => one.facts[name] === unknown) ? unknown : noFacts[name]
      return { ...facts, [name]: known[name] ?? absent }
    }, constant)
  }
  if (beneath && required.some(({ on }) => on === 'beneath')) return subtreeFacts(permission)
  return operationFactsOf(getOperation(permission), id, { stated })
}

/** Facts of a permission that are equal in every request; all others are pending. */
export function constantFacts(permission: Permission): OperationFacts {
  return constantFactsByPermission.get(permission) ?? extraOperationFacts
}

/** Facts that conditions on the permission can depend on; any other is always empty. */
export function factsAvailableFor(permission: Permission): ReadonlySet<ConditionFact> {
  const constant = constantFacts(permission)
  return new Set(conditionFacts.filter((name) => constant[name] !== noFacts[name]))
}

/** Facts of the permission that requests state; the others are constant or always unknown. */
export function factsStatedFor(permission: Permission): ReadonlySet<ConditionFact> {
  const required = listFactsOf(permission)
  return new Set(conditionFacts.filter((name) => required.some(({ facts }) => facts[name] === pending)))
}

/** Lists the words, in canonical form, of the operation, or of all that require an effect. */
export function listWords(fact: 'mode' | 'behavior', permissions: Iterable<Permission>): ReadonlySet<string> {
  const operations = [...permissions].flatMap((permission) =>
    isOperationName(permission)
      ? getOperation(permission)
      : listFactsOf(permission).map(({ operation }) => operation),
  )
  const words = operations.flatMap(({ modes, behaviors }) => (fact === 'mode' ? modes : behaviors))
  return new Set(words.map(canonicalizeWord))
}

/** Lists the operations whose requests may state a fact. */
export function listStating(fact: FactName, among: readonly Operation[] = operations): readonly Permission[] {
  return among.filter(({ facts }) => facts.some(([name]) => name === fact)).map(({ name }) => name)
}

/** Lists the operations that require a permission, with its facts there; those that requests may state are pending. */
function listFactsOf(permission: Permission) {
  return factsByPermission.get(permission) ?? []
}

const operations = operationNames.map(getOperation)

const factsByPermission = groupBy(
  operations.flatMap((operation) => {
    const all = allPending(operation)
    const own = { permission: operation.name, on: 'itself', facts: operationFactsOf(operation, [], all) }
    const others = getRequirements(operation).map((requirement) => {
      const { permission, on } = requirement
      return { permission, on, facts: requirementFacts(requirement, operation, [], all) }
    })
    return [own, ...others].map((required) => ({ ...required, operation }))
  }),
  ({ permission }) => permission,
)

const constantFactsByPermission: ReadonlyMap<string, OperationFacts> = new Map(
  [...factsByPermission].map(([permission, required]) => {
    const [first = noFacts, ...others] = required.map(({ facts }) => facts)
    const varying = conditionFacts.filter((name) => others.some((facts) => facts[name] !== first[name]))
    return [permission, replaceFacts(first, varying, pending)]
  }),
)

export function allPending({ facts }: Operation): KnownFacts {
  return { stated: {}, pendingFacts: new Set(facts.map(([name]) => name)) }
}
