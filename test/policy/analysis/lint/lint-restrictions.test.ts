import { expect, it } from 'vitest'
import { compilePolicies } from '../../../../src/policy/policy-set.ts'
import { lintPolicies } from '../../../../src/policy/analysis/lint/lint-policies.ts'
import { parsePolicies } from '../../parse-policies.ts'

function lint(allow: string, restrict: readonly string[]): readonly string[] {
  const text = `apiVersion: catalog-gateway/v1
kind: AccessPolicy
metadata: { name: crm }
namespace: []
rules: [{ id: y, effect: allow, ${allow} }]
restrict: [${restrict.join(', ')}]
`
  const { documents, problems } = parsePolicies(text, 'crm.yaml')
  expect(problems).toEqual([])
  return lintPolicies(compilePolicies(documents)).map(({ check, message }) => `${check} ${message}`)
}

const analysts = '{ groups: [analysts], except: { groups: [office] } }'
const restriction = (id: string, subjects = analysts): string =>
  `{ id: ${id}, subjects: ${subjects}, tables: [customers], columns: { ${id}: number } }`

it.for([
  ['another name of its location', 'RegisterTable, ChooseLocation', 'RegisterTable with ChooseLocation'],
  ['a commit of its files', 'CreateTableVersion', 'CreateTableVersion'],
  ['SQL and code', 'ReadAnyTable', 'ReadAnyTable'],
] as const)('reports a way around a restriction with exceptions: %s', ([, operations, way]) => {
  const found = lint(`subjects: { groups: [analysts] }, operations: [QueryTable, ${operations}]`, [
    restriction('eu'),
  ])
  expect(found.filter((message) => message.startsWith('way-around'))).toEqual([
    expect.stringContaining(
      `restricts tables, but the same callers can reach all of their content otherwise: ${way}`,
    ),
  ])
})

it('accepts credentials, which the restriction denies', () => {
  const found = lint('subjects: { groups: [analysts] }, operations: [QueryTable, VendCredentials]', [
    restriction('eu'),
  ])
  expect(found.filter((message) => message.startsWith('way-around'))).toEqual([])
})

it('reports no restriction as redundant', () => {
  const both = [restriction('one'), restriction('two')]
  const found = lint('subjects: { groups: [analysts] }, operations: [QueryTable]', both)
  expect(found.filter((message) => message.startsWith('shadowed'))).toEqual([])
})

it('reports a restriction of every caller that does not cover anonymous ones', () => {
  const found = lint('subjects: { anonymous: true }, operations: [QueryTable]', [
    restriction('eu', '{ any: true }'),
  ])
  expect(found.filter((message) => message.startsWith('anonymous'))).toHaveLength(1)
})

it.for([
  [
    "regoin = 'EU'",
    ['has "rows" on the column "regoin", which is none of its columns; did you mean "region"?'],
  ],
  ["tenant = 'EU'", []],
  ['tenant in $principal.claims.tenants', []],
  [Array.from({ length: 1_000 }, (_, n) => `tenant = 'T${n}'`).join(' or '), []],
] as const)('reports a column of rows that is like another one: %s', ([rows, messages]) => {
  const found = lint('subjects: { groups: [analysts] }, operations: [QueryTable]', [
    restriction('region').replace(/ \}$/, `, rows: "${rows}" }`).replace('number', 'text'),
  ])
  const expected = messages.map((message) => `effect crm/region ${message}`)
  expect(found.filter((message) => message.includes('rows'))).toEqual(expected)
})
