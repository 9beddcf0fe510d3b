import { describeFactSource, type FactName, type FactSource } from './facts.ts'
import { refusal, type CatalogError } from './catalog-error.ts'
import { getOperation, operationNames, type Operation } from './operations.ts'

/** A part of a request that names stand in. */
type RequestPart = Exclude<FactSource['in'], 'properties'>

const factsByName = new Map<string, FactName>()
for (const name of operationNames) {
  for (const [fact, locations] of getOperation(name).facts) {
    for (const location of locations) factsByName.set(location.name, fact)
  }
}

/** Names of facts that say something else in other operations, such as the name of an index. */
const ambiguousNames: ReadonlySet<string> = new Set(['name'])

/** The members of entries of batches, and the lists of them. */
const entryMembers = operationNames.flatMap((name) => {
  const { entries } = getOperation(name)
  if (entries === undefined) return []
  return [entries.member, ...(typeof entries.operation === 'string' ? [] : Object.keys(entries.operation))]
})

/** Every name by which a member of a body decides something. */
export const decisiveMembers: ReadonlySet<string> = new Set([
  'id',
  'index_name',
  'identity',
  'context',
  'query',
  ...factsByName.keys(),
  ...entryMembers,
])

/**
 * Throws InvalidInput (400) if a name states a fact in some operation, but not in that part of this one: a policy
 * does not decide on it there, and the upstream could.
 */
export function assertFactSource(operation: Operation, part: RequestPart, name: string): void {
  const fact = factsByName.get(name)
  if (fact === undefined || ambiguousNames.has(name)) return
  for (const [, locations] of operation.facts) {
    if (locations.some((location) => location.in === part && location.name === name)) return
  }
  throw misplacedFactError(operation, part, name, fact)
}

function misplacedFactError(
  operation: Operation,
  part: RequestPart,
  name: string,
  fact: FactName,
): CatalogError {
  const [location] = operation.facts.find(([other]) => other === fact)?.[1] ?? []
  const belongs = location === undefined ? 'omit it' : `send it as ${describeFactSource(location)}`
  return refusal(
    'misplaced_parameter',
    `${operation.name} does not accept ${describePart(part, name)}; ${belongs}`,
  )
}

function describePart(part: RequestPart, name: string): string {
  return describeFactSource({ in: part, name }).replace(/^the /, '')
}

/** The fact of the operation that a member of that name of its body states, if any. */
export function factForMember(operation: Operation, name: string): FactName | undefined {
  return operation.facts.find(([, locations]) =>
    locations.some((location) => location.in === 'body' && location.name === name),
  )?.[0]
}

/** Whether a member of that name states a fact in some operation. */
export function isDecisiveMember(name: string): boolean {
  return factsByName.has(name)
}
