import { describeFactSource, type FactName, type FactSource } from './facts.ts'
import { refusal, type CatalogError } from './catalog-error.ts'
import { getOperation, operationNames, type Operation } from './operations.ts'

type RequestPart = Exclude<FactSource['in'], 'properties'>

const factsByName = new Map<string, FactName>()
for (const name of operationNames) {
  for (const [fact, sources] of getOperation(name).facts) {
    for (const source of sources) factsByName.set(source.name, fact)
  }
}

/** Fact names with another meaning in other operations, such as the name of an index. */
const ambiguousNames: ReadonlySet<string> = new Set(['name'])

const entryMembers = operationNames.flatMap((name) => {
  const { entries } = getOperation(name)
  if (entries === undefined) return []
  return [entries.member, ...(typeof entries.operation === 'string' ? [] : Object.keys(entries.operation))]
})

/** Names of body members that can affect a decision. */
export const decisiveMembers: ReadonlySet<string> = new Set([
  'id',
  'index_name',
  'job_id',
  'identity',
  'context',
  'query',
  ...[...factsByName.keys()].filter((name) => !ambiguousNames.has(name)),
  ...entryMembers,
])

/**
 * Throws InvalidInput (400) if a name states a fact in some operation, but not in this part of this one: the policies
 * would not see it there, and the upstream might act on it.
 */
export function assertFactSource(operation: Operation, part: RequestPart, name: string): void {
  const fact = factsByName.get(name)
  if (fact === undefined || ambiguousNames.has(name)) return
  if (findFact(operation, part, name) === undefined) throw misplacedFactError(operation, part, name, fact)
}

function misplacedFactError(
  operation: Operation,
  part: RequestPart,
  name: string,
  fact: FactName,
): CatalogError {
  const [source] = operation.facts.find(([other]) => other === fact)?.[1] ?? []
  const remedy = source === undefined ? 'omit it' : `send it as ${describeFactSource(source)}`
  return refusal(
    'misplaced_parameter',
    `${operation.name} does not accept ${describePart(part, name)}; ${remedy}`,
  )
}

function describePart(part: RequestPart, name: string): string {
  return describeFactSource({ in: part, name }).replace(/^the /, '')
}

/** Returns the fact that a body member of this name states in the operation, if any. */
export function factForMember(operation: Operation, name: string): FactName | undefined {
  return findFact(operation, 'body', name)
}

/** Returns the fact that a member of the object `query` in the body states in the operation, if any. */
export function factForQueryMember(operation: Operation, name: string): FactName | undefined {
  return findFact(operation, 'body.query', name)
}

function findFact({ facts }: Operation, part: RequestPart, name: string): FactName | undefined {
  return facts.find(([, sources]) =>
    sources.some((source) => source.in === part && source.name === name),
  )?.[0]
}
