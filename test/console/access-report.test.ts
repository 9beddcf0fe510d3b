import { expect, it } from 'vitest'
import { createAccessReport } from '../../src/console/access-report.ts'
import { createExtraOperations } from '../../src/catalog-api/extra-operation.ts'
import { createPolicyVocabulary } from '../../src/policy/language/policy-vocabulary.ts'
import { compilePolicies } from '../../src/policy/policy-set.ts'
import { parsePolicies } from '../policy/parse-policies.ts'
import { extraOperations } from '../gateway/support/extra-operations.ts'
import { formatPolicies, parseDocuments } from '../policy/policy-builder.ts'

const documents = parseDocuments([
  {
    name: 'root',
    namespace: [],
    rules: [{ id: 'ops', effect: 'allow', subjects: { groups: ['ops'] }, operations: ['all'] }],
  },
  {
    name: 'sales',
    namespace: ['prod', 'sales'],
    rules: [
      {
        id: 'writers',
        effect: 'allow',
        subjects: { users: ['etl'] },
        operations: ['write'],
        when: 'mode == "append"',
      },
      { id: 'secret', effect: 'deny', subjects: { any: true }, operations: ['query'], tables: ['secret_*'] },
    ],
  },
  {
    name: 'raw',
    namespace: ['prod', 'raw'],
    restrict: [
      {
        id: 'eu',
        subjects: { groups: ['temps'] },
        tables: ['people'],
        columns: { id: 'number' },
        rows: "region = 'EU' and tenant in $principal.claims.tenants",
      },
    ],
    rules: [{ id: 'read', effect: 'allow', subjects: { any: true }, operations: ['read'] }],
  },
])

const set = compilePolicies(documents)

it('the report of a table has the rules of each caller, as who-can prints them', () => {
  const { id, callers, forTables } = createAccessReport(set, 'table', ['prod', 'sales', 'orders'])
  expect({ id, forTables }).toEqual({ id: 'prod/sales/orders', forTables: [] })
  expect(callers.map(({ name }) => name).toSorted()).toEqual(['group ops', 'user etl'])
  expect(callers.find(({ name }) => name === 'user etl')?.grants).toMatch(
    /^ {2}write +by sales\/writers \(policies.yaml:\d+\)\n {4}if mode == "append"$/,
  )
})

it('the report of a namespace lists rules for tables apart', () => {
  expect(createAccessReport(set, 'namespace', ['prod', 'sales']).forTables).toEqual([
    expect.stringMatching(/^secret_\*: sales\/secret \(.*\)$/),
  ])
  expect(createAccessReport(set, 'namespace', ['prod', 'raw']).forTables).toEqual([
    expect.stringMatching(/^people: raw\/eu \(.*\): columns id number; rows \(/),
  ])
})

it('the report says whom a restriction leaves a part of a table, and which', () => {
  const { callers } = createAccessReport(set, 'table', ['prod', 'raw', 'people'])
  expect(callers.find(({ name }) => name === 'every caller')?.grants).toMatch(
    /^ {4}restricted by raw\/eu \(.*\) if also group temps: columns id number; rows \(/m,
  )
})

it('the report has the extra operations that policies name', () => {
  const rule = {
    id: 'r',
    effect: 'allow',
    subjects: { users: ['sam'] },
    operations: ['CompactTable'],
  } as const
  const text = formatPolicies([{ name: 'p', namespace: ['prod'], rules: [rule] }])
  const vocabulary = createPolicyVocabulary({ extraOperations: createExtraOperations([{ extraOperations }]) })
  const named = parsePolicies(text, 'p.yaml', vocabulary).documents
  const { callers } = createAccessReport(compilePolicies(named), 'table', ['prod', 'orders'])
  expect(callers).toEqual([{ name: 'user sam', grants: expect.stringMatching(/^ {2}CompactTable +by p\/r/) }])
})

it('the namespaces that policies are about are suggested', () => {
  expect(createAccessReport(set, 'namespace', []).namespaces).toEqual(['/', 'prod/raw', 'prod/sales'])
})
