import { expect, it } from 'vitest'
import { parsePolicies } from '../../../src/policy/language/parse-policies.ts'

/** Errors of a policy with one test, which starts on line 6. */
function errorsOf(operations: string, stated: string, table = 'table: [a, t]'): readonly string[] {
  const text = `apiVersion: catalog-gateway/v1
kind: DecisionTable
metadata: { name: p }
tests:
  - operations: ${operations}
    ${table}
    expect: deny
    given: ${stated}
`
  const { problems } = parsePolicies(text, 'p.yaml')
  return problems.map(({ line, column, message }) => `${line}:${column} ${message}`)
}

it.each([
  [
    '[DeleteFromTable]',
    '{ branch: main, mode: append }',
    '8:34 tests[0].given.mode: requests for DeleteFromTable state branch; "mode" is stated for CreateNamespace, ' +
      'DropNamespace, RegisterTable, InsertIntoTable, CreateTable, ChooseLocation, ChooseStorage, VendCredentials',
  ],
  [
    '[TableExists, ListTableTags]',
    '{ tag: v1 }',
    '8:19 tests[0].given.tag: requests for TableExists, ListTableTags state no facts; "tag" is stated for ' +
      'DescribeTable, GetTableTagVersion, CreateTableTag, DeleteTableTag, UpdateTableTag, VendCredentials',
  ],
  [
    '[CreateTable]',
    '{ metadata: { a: b } }',
    '8:24 tests[0].given.metadata: requests for CreateTable state mode, location, properties; "metadata" is stated ' +
      'for CreateTableVersion',
  ],
])('rejects a fact that none of %s has, at its position', (operations, stated, error) => {
  expect(errorsOf(operations, stated)).toEqual([error])
})

it('rejects a branch that no request states, although the operation has one', () => {
  for (const operation of ['DropTable', 'RegisterTable', 'UpdateTableTag', 'CreateTable']) {
    expect(errorsOf(`[${operation}]`, '{ branch: ci/7 }')).toEqual([
      expect.stringMatching(
        new RegExp(`^8:22 tests\\[0\\]\\.given\\.branch: requests for ${operation} state .*; "branch" is `),
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
  ['[write]', '{ branch: main, mode: append }', 'table: [a, t]'],
  ['[write, drop]', '{ branch: main }', 'table: [a, t]'],
  ['[RenameTable]', '{ destination: [a, u] }', 'table: [a, t]'],
  ['[OverwriteTable]', '{ branch: ci/7 }', 'table: [a, t]'],
  ['[DropNamespace]', '{ mode: skip, behavior: cascade }', 'namespace: [a]'],
])('accepts a fact that one of %s has', (operations, stated, table) => {
  expect(errorsOf(operations, stated, table)).toEqual([])
})
