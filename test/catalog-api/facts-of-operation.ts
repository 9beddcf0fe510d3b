import type { FactName, FactSourcePath } from '../../src/catalog-api/facts.ts'
import { getOperation, type OperationName } from '../../src/catalog-api/operations.ts'

/** Returns the facts of an operation with their sources in a request, such as `body.branch`. */
export function factsOf(name: OperationName): { readonly [Name in FactName]?: readonly FactSourcePath[] } {
  const facts = getOperation(name).facts.map(([fact, sources]) => [
    fact,
    sources.map((source) => `${source.in}.${source.name}`),
  ])
  return Object.fromEntries(facts) as ReturnType<typeof factsOf>
}
