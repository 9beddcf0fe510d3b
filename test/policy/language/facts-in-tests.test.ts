import { expect, it } from 'vitest'
import { parsePolicies } from '../parse-policies.ts'

/** Errors of a policy with one test, which starts on line 7. */
function errorsOf(...test: Parameters<typeof parseTest>): readonly string[] {
  return parseTest(...test).problems.map(({ line, column, message }) => `${line}:${column} ${message}`)
}

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

it('rejects a branch that no request states, although the operation has one', () => {
  for (const operation of ['DropTable', 'RegisterTable', 'UpdateTableTag', 'CreateTable']) {
    expect(errorsOf(`[${operation}]`, '{ branch: ci/7 }')).toEqual([
      expect.stringMatching(
        new RegExp(`^9:22 tests\\[0\\]\\.given\\.branch: requests for ${operation} state `),
      ),
    ])
  }
})

it('reports every such fact, but not facts of the request head', () => {
  const stated =
    '{ address: 192.0.2.9, context: { env: x }, now: 2026-01-01T00:00:00Z, tag: v1, behavior: cascade }'
  expect(
    errorsOf('[DeleteFromTable]', stated).map((error) => error.split(':')[2]?.split('.')[0]),
  ).toHaveLength(2)
})

it.each([
  ['[InsertIntoTable]', '{ mode: Overwrite }', { mode: 'overwrite', branch: 'main' }],
  ['[CreateTable]', '{ mode: exist_ok }', { mode: 'existok' }],
  ['[OverwriteTable]', "{ branch: '' }", { branch: 'main' }],
])('%s is decided with %s in the form in which the gateway has it', (operations, stated, facts) => {
  const { tests, problems } = parseTest(operations, stated)
  expect(problems).toEqual([])
  expect(tests[0]?.requests[0]?.operation).toMatchObject(facts)
})
