import { expect, it } from 'vitest'
import { getOperation, operationNames } from '../../src/catalog-api/operations.ts'
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
