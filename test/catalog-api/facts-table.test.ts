import { expect, it } from 'vitest'
import type { FactName } from '../../src/catalog-api/facts.ts'
import { getOperation, operationNames } from '../../src/catalog-api/operations.ts'
import { assertFactSource } from '../../src/catalog-api/reserved-names.ts'
import { documentedEntries, documentedFacts, unknownBranches } from './documented-facts.ts'

it.each(operationNames)('%s has the facts and sources of the interface document', (name) => {
  const { facts } = getOperation(name)
  const locations = facts.map(([fact, locations]) => [
    fact,
    locations.map((location) => `${location.in}.${location.name}`),
  ])
  expect(Object.fromEntries(locations)).toEqual(documentedFacts[name])
})

it('the operations with an unknown branch are those of the reference', () => {
  const unknown = operationNames.map((name) => [name, getOperation(name).unknownBranch] as const)
  expect(Object.fromEntries(unknown.filter(([, when]) => when !== undefined))).toEqual(unknownBranches)
})

it('batch entries have the operations of the interface document', () => {
  const entries = operationNames.flatMap((name) => {
    const { entries } = getOperation(name)
    if (entries === undefined) return []
    const { member, operation } = entries
    return [[name, typeof operation === 'string' ? { [member]: operation } : operation]]
  })
  expect(Object.fromEntries(entries)).toEqual(documentedEntries)
})

const parts = ['query', 'header', 'body', 'body.query'] as const
const inWords: Readonly<Record<string, (name: string) => string>> = {
  query: (name) => `query parameter "${name}"`,
  header: (name) => `header "x-catalog-table-${name}"`,
  body: (name) => `member "${name}" of the body`,
  'body.query': (name) => `member "query.${name}" of the body`,
  properties: (name) => `"${name}" among the properties`,
}

const split = (source: string): readonly [part: string, name: string] => {
  const dot = source.lastIndexOf('.')
  return [source.slice(0, dot), source.slice(dot + 1)]
}

/** By each name that states a fact in some operation; the name of an index is none. */
const factsByName = new Map(
  operationNames
    .flatMap((name) => Object.entries(documentedFacts[name]))
    .flatMap(([fact, sources]) => sources.map((source) => [split(source)[1], fact as FactName] as const))
    .filter(([name]) => name !== 'name'),
)

it.each(operationNames)('%s accepts the names of facts in their sources only', (operation) => {
  const facts = documentedFacts[operation]
  const sources: readonly string[] = Object.values(facts).flat()
  for (const [name, fact] of factsByName) {
    const [part, member] = split(facts[fact]?.[0] ?? '.')
    const proper = inWords[part]?.(member)
    const remedy =
      proper === undefined ? 'omit it' : `send it as ${part === 'properties' ? '' : 'the '}${proper}`
    for (const part of parts) {
      const check = (): void => assertFactSource(getOperation(operation), part, name)
      if (sources.includes(`${part}.${name}`)) expect(check).not.toThrow()
      else expect(check).toThrow(`${operation} does not accept ${inWords[part]?.(name)}; ${remedy}`)
    }
  }
})
