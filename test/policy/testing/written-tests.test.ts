import { expect, it } from 'vitest'
import { parsePolicies } from '../parse-policies.ts'
import { compileContents } from '../../../src/policy/source/load-policies.ts'
import { runTests } from '../../../src/policy/testing/decision-test.ts'

function parse(expectation: string, user = 'ann', operation = 'InsertIntoTable') {
  return parsePolicies(
    `apiVersion: catalog-gateway/v1
kind: AccessPolicy
metadata: { name: prod }
namespace: [prod]
rules:
  - { id: freeze, effect: deny, subjects: { everyone: true }, operations: [write], message: frozen until 4 January }
  - { id: team, effect: allow, subjects: { users: [ann] }, operations: [browse] }
tests: [{ as: { user: ${user} }, operations: [${operation}], table: [prod, orders], ${expectation} }]
`,
    'prod.yaml',
  )
}

it.each([
  ['until 4 January', []],
  ['until 5 January', [{ decided: 'deny', message: 'frozen until 4 January' }]],
])('a denial is tested for its message: %s', (message, disagreements) => {
  const { documents, tests } = parse(`expect: deny, message: ${message}`)
  const [result] = runTests(tests, compileContents({ documents, tests })).results
  expect(result).toMatchObject({ expectedMessage: message, disagreements })
})

it('a caller that may not know of the table reads no message', () => {
  const { documents, tests } = parse('expect: deny, message: frozen', 'eve')
  const [result] = runTests(tests, compileContents({ documents, tests })).results
  expect(result?.disagreements).toEqual([expect.not.objectContaining({ message: expect.anything() })])
})

it.each([
  ['InsertIntoTable', '{ mode: Overwrite }', { mode: 'overwrite', branch: 'main' }],
  ['CreateTable', '{ mode: exist_ok }', { mode: 'existok' }],
  ['OverwriteTable', "{ branch: '' }", { branch: 'main' }],
])('%s is decided with %s in the form in which the gateway has it', (operation, stated, facts) => {
  const { tests, problems } = parse(`expect: deny, given: ${stated}`, 'ann', operation)
  expect(problems).toEqual([])
  expect(tests[0]?.requests[0]?.operation).toMatchObject(facts)
})
