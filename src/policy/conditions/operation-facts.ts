import {
  canonicalizeBranch,
  type FactName,
  type FactSource,
  type StatedFacts,
} from '../../catalog-api/facts.ts'
import type { Identifier } from '../../catalog-api/identifiers.ts'
import { cacheByOperation } from '../../catalog-api/requirements.ts'
import { getOperation, type Operation, type OperationName } from '../../catalog-api/operations.ts'
import { pending, unknown, type Fact } from './fact.ts'
import { isConditionFact, noFacts, type ConditionFact, type OperationFacts } from './authorization-request.ts'

/** Facts stated by a request, and facts that its unread part may still state. */
export interface KnownFacts {
  readonly stated: StatedFacts
  readonly pendingFacts: ReadonlySet<FactName>
}

const noFactNames: ReadonlySet<FactName> = new Set()

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

const factsIfNoneStated = cacheByOperation((operation) => createFacts(operation, [], noKnownFacts))
const factsIfBodyPending = cacheByOperation((operation) =>
  createFacts(operation, [], factsBeforeBody(operation)),
)
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
    metadata: fact('metadata', noFacts.metadata),
    properties: fact('properties', noFacts.properties),
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

/** Facts of an operation on an object beneath a namespace that is dropped or replaced as a whole. */
export function subtreeFacts(operation: OperationName): OperationFacts {
  const { facts, unknownBranch } = getOperation(operation)
  const beneath: { -readonly [Name in ConditionFact]: OperationFacts[Name] } = { ...noFacts }
  for (const [name] of facts) if (isConditionFact(name)) beneath[name] = unknown
  if (unknownBranch !== undefined) beneath.branch = unknown
  return beneath
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
  if (stated.newName !== undefined) {
    const [destination, ...others] = listDestinations(id, stated.newNamespace, stated.newName)
    return others.length > 0 || destination === undefined ? unknown : destination
  }
  return pendingFacts.has('newName') ? pending : noFacts.destination
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
