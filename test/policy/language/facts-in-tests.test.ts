import { expect, it } from 'vitest'
import { parsePolicies } from '../parse-policies.ts'

/** Errors of a policy with one test, which starts on line 6. */
function errorsOf(...test: Parameters<typeof parseTest>): readonly string[] {
  return parseTest(...test).problems.map(({ line, column, message }) => `${line}:${column} ${message}`)
}

function parseTest(operations: string, stated: string, table = 'table: [a, t]') {
  const text = `apiVersion: catalog-gateway/v1
kind: DecisionTable
metadata: { name: p }
tests:
  - operations: ${operations}
    ${table}
    expect: deny
    given: ${stated}
`
  return parsePolicies(text, 'p.yaml')
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
  [
    '[DropTable, CreateTable]',
    '{ mode: skip }',
    '8:20 tests[0].given.mode: "skip" is not a mode of DropTable, CreateTable; expected one of create, existok, overwrite',
  ],
  [
    '[ChooseLocation]',
    '{ mode: append }',
    '8:20 tests[0].given.mode: "append" is not a mode of ChooseLocation; expected one of create, existok, overwrite',
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
  ['[DropNamespace]', '{ mode: skip, behavior: Cascade }', 'namespace: [a]'],
  ['[CreateTable]', '{ mode: exist_ok }', 'table: [a, t]'],
])('accepts a fact that one of %s has', (operations, stated, table) => {
  expect(errorsOf(operations, stated, table)).toEqual([])
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
