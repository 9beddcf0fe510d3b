import { expect, it } from 'vitest'
import { parsePolicies } from '../parse-policies.ts'

function parseTest(operations: string, stated: string) {
  const text = `apiVersion: catalog-gateway/v1
kind: AccessPolicy
metadata: { name: p }
namespace: [a]
tests:
  - operations: ${operations}
    table: [a, t]
    expect: deny
    given: ${stated}
`
  return parsePolicies(text, 'p.yaml')
}

it.each([
  ['[InsertIntoTable]', '{ mode: Overwrite }', { mode: 'overwrite', branch: 'main' }],
  ['[CreateTable]', '{ mode: exist_ok }', { mode: 'existok' }],
  ['[OverwriteTable]', "{ branch: '' }", { branch: 'main' }],
])('%s is decided with %s in the form in which the gateway has it', (operations, stated, facts) => {
  const { tests, problems } = parseTest(operations, stated)
  expect(problems).toEqual([])
  expect(tests[0]?.requests[0]?.operation).toMatchObject(facts)
})
