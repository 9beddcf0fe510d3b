import { describePlace, type FactName, type FactPlace } from './facts.ts'
import { refusal, type InterfaceError } from './errors.ts'
import { operationNamed, operationNames, type Operation } from './operations.ts'

/** A part of a request that names stand in. */
type Part = Exclude<FactPlace['in'], 'properties'>

const factsByName = new Map<string, FactName>()
for (const name of operationNames) {
  for (const [fact, places] of operationNamed(name).facts) {
    for (const place of places) factsByName.set(place.name, fact)
  }
}

/** Names of facts that say something else in other operations, such as the name of an index. */
const ambiguous: ReadonlySet<string> = new Set(['name'])

/** The members of entries of batches, and the lists of them. */
const entryMembers = operationNames.flatMap((name) => {
  const { entries } = operationNamed(name)
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
export function assertPlaced(operation: Operation, part: Part, name: string): void {
  const fact = factsByName.get(name)
  if (fact === undefined || ambiguous.has(name)) return
  for (const [, places] of operation.facts) {
    if (places.some((place) => place.in === part && place.name === name)) return
  }
  throw misplaced(operation, part, name, fact)
}

function misplaced(operation: Operation, part: Part, name: string, fact: FactName): InterfaceError {
  const [place] = operation.facts.find(([other]) => other === fact)?.[1] ?? []
  const belongs = place === undefined ? 'leave it out' : `send it as ${describePlace(place)}`
  return refusal('misplaced_parameter', `${operation.name} takes no ${wordsOf(part, name)}; ${belongs}`)
}

function wordsOf(part: Part, name: string): string {
  return describePlace({ in: part, name }).replace(/^the /, '')
}

/** The fact of the operation that a member of that name of its body states, if any. */
export function factOf(operation: Operation, name: string): FactName | undefined {
  return operation.facts.find(([, places]) =>
    places.some((place) => place.in === 'body' && place.name === name),
  )?.[0]
}

/** Whether a member of that name states a fact in some operation. */
export function isDecisive(name: string): boolean {
  return factsByName.has(name)
}
