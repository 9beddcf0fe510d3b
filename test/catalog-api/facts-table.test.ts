import { expect, it } from 'vitest'
import type { FactName } from '../../src/catalog-api/facts.ts'
import { getOpenApiDocument } from '../../src/catalog-api/openapi/openapi-document.ts'
import { getOperation, operationNames, type OperationName } from '../../src/catalog-api/operations.ts'
import { assertFactSource } from '../../src/catalog-api/reserved-names.ts'
import { getMembers } from '../../src/lib/json/json-values.ts'
import { factsOf } from './facts-of-operation.ts'

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
    .flatMap((name) => Object.entries(factsOf(name)))
    .flatMap(([fact, sources]) => sources.map((source) => [split(source)[1], fact as FactName] as const))
    .filter(([name]) => name !== 'name'),
)

const { components } = JSON.parse(getOpenApiDocument()) as {
  readonly components: { readonly schemas: object }
}

/** The query parameters and the members of the body in the interface document, such as `body.branch`. */
function listInterface(name: OperationName): readonly string[] {
  const schema = getMembers(getMembers(components.schemas)[`${name}Request`])
  const members = Object.keys(getMembers(schema['properties'])).map((member) => `body.${member}`)
  return [...members, ...[...getOperation(name).query.keys()].map((parameter) => `query.${parameter}`)]
}

it.each(operationNames)('%s has a fact for everything in its interface that is called like one', (name) => {
  const sources: readonly string[] = Object.values(factsOf(name)).flat()
  const decisive = listInterface(name).filter((source) => factsByName.has(split(source)[1]))
  expect(decisive.filter((source) => !sources.includes(source))).toEqual([])
})

it('every change of a table states its branch, or is one of any branch, except for those of main', () => {
  const ofMain = operationNames.map(getOperation).filter(({ object, effect, facts, unknownBranch }) => {
    const isOnTable = ['table', 'view', 'materialized_view', 'transaction'].includes(object)
    const hasBranch = unknownBranch !== undefined || facts.some(([fact]) => fact === 'branch')
    return isOnTable && effect !== 'read' && !hasBranch
  })
  expect(ofMain.map(({ name }) => name)).toEqual(['CreateTable', 'DeclareTable', 'CherryPickTableBranch'])
})

it.each(operationNames)('%s accepts the names of facts in their sources only', (operation) => {
  const facts = factsOf(operation)
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
