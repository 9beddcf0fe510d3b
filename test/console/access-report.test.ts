import { expect, it } from 'vitest'
import { createAccessReport, listNamespaces } from '../../src/console/access-report.ts'
import { formatAccessReport } from '../../src/console/access-texts.ts'
import { createExtraOperations } from '../../src/catalog-api/extra-operation.ts'
import { permissionNames } from '../../src/catalog-api/permissions.ts'
import { parsePolicies } from '../policy/parse-policies.ts'
import { createPolicyVocabulary } from '../../src/policy/language/policy-vocabulary.ts'
import { objectKindOfPermission, objectPosition } from '../../src/policy/engine/object-position.ts'
import { compilePolicies } from '../../src/policy/policy-set.ts'
import { whoCan } from '../../src/policy/analysis/grants.ts'
import { extraOperations } from '../gateway/support/extra-operations.ts'
import { parseDocuments } from '../policy/parse-documents.ts'
import { formatPolicies } from '../policy/policy-builder.ts'

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

it.for([
  ['prod', 'sales', 'orders'],
  ['prod', 'sales', 'secret_one'],
  ['prod', 'raw', 't'],
  ['other', 't'],
])('the report of a table equals who-can for each operation: %j', (id) => {
  const { callers } = createAccessReport(set, 'table', id)
  for (const permission of permissionNames) {
    const kind = objectKindOfPermission(permission)
    if (kind === 'namespace' || kind === 'none') continue
    const reported = callers
      .filter(({ grants }) => grants.some(({ operation }) => operation === permission))
      .map(({ subject }) => subject)
    const object = kind === 'transaction' ? [...id, '1'] : id
    const expected = whoCan(set, permission, objectPosition(kind, object)).allowed.map(
      ({ subject }) => subject,
    )
    expect(new Set(reported)).toEqual(new Set(expected))
  }
})

it('the report of a namespace separates rules for tables, and shows conditions with the grants', () => {
  const { callers, forTables } = createAccessReport(set, 'namespace', ['prod', 'sales'])
  expect(forTables).toMatchObject([{ rule: { policy: 'sales', rule: 'secret' }, tables: ['secret_*'] }])
  const writer = callers.find(({ subject }) => subject.name === 'etl')
  expect(writer?.grants.length).toBeGreaterThan(0)
  expect(writer?.grants.every((grant) => grant.if === 'mode == "append"')).toBe(true)
})

it('the report shows whom a restriction leaves a part of a table, and which', () => {
  const restriction = {
    rule: { policy: 'raw', rule: 'eu' },
    columns: { id: 'number' },
    rows: "((`region` = 'EU') AND (`tenant` IN ($principal.claims.tenants)))",
  }
  const { callers } = createAccessReport(set, 'table', ['prod', 'raw', 'people'])
  const any = callers.find(({ subject }) => subject.kind === 'any')
  expect(any?.grants.find(({ operation }) => operation === 'QueryTable')).toMatchObject({
    sees: 'all',
    restrictedBy: [{ ...restriction, subjects: { groups: ['temps'] } }],
  })
  expect(any?.sees).toBe('all')
  expect(any?.grants.find(({ operation }) => operation === 'ListTableTags')).toMatchObject({
    unless: [{ rule: { rule: 'eu' }, subjects: { groups: ['temps'] } }],
  })
  const others = createAccessReport(set, 'table', ['prod', 'raw', 't']).callers
  expect(others.flatMap(({ grants }) => grants).filter(({ restrictedBy }) => restrictedBy)).toEqual([])
  const { forTables } = createAccessReport(set, 'namespace', ['prod', 'raw'])
  expect(forTables).toMatchObject([{ ...restriction, tables: ['people'] }])
})

function restrict(id: string, groups: readonly string[], columns: Readonly<Record<string, string>>) {
  return { id, subjects: { groups, except: { groups: ['office'] } }, tables: ['people'], columns }
}

it('the report says what a caller that is nothing else sees of a table', () => {
  const rule = { id: 'read', effect: 'allow', operations: ['read', 'write'] } as const
  const policies = parseDocuments([
    {
      name: 'hr',
      namespace: ['hr'],
      tags: { tables: { people: { columns: { id: 'number', ssn: { type: 'text', tags: ['pii'] } } } } },
      restrict: [
        restrict('some', ['analysts', 'temps'], { id: 'number' }),
        restrict('none', ['temps'], { ssn: 'text' }),
      ],
      rules: [{ ...rule, subjects: { groups: ['analysts', 'temps', 'office'] } }],
    },
  ])
  const { columns, callers } = createAccessReport(compilePolicies(policies), 'table', ['hr', 'people'])
  expect(columns).toEqual(['ssn'])
  expect(callers.map(({ subject, sees }) => [subject.name, sees])).toEqual([
    ['analysts', 'part'],
    ['temps', 'nothing'],
    ['office', 'all'],
  ])
  const writes = callers[0]?.grants.filter(({ operation }) => operation === 'UpdateTable')
  expect(writes).toMatchObject([{ sees: 'nothing' }])
})

it('the report lists the extra operations that policies name', () => {
  const rule = {
    id: 'r',
    effect: 'allow',
    subjects: { users: ['sam'] },
    operations: ['CompactTable'],
  } as const
  const text = formatPolicies([{ name: 'p', namespace: ['prod'], rules: [rule] }])
  const vocabulary = createPolicyVocabulary({ extraOperations: createExtraOperations([{ extraOperations }]) })
  const named = parsePolicies(text, 'p.yaml', vocabulary).documents
  const { groups, callers } = createAccessReport(compilePolicies(named), 'table', ['prod', 'orders'])
  expect(groups.at(-1)).toEqual({ name: 'extra operations', operations: ['CompactTable'] })
  expect(callers).toMatchObject([{ subject: { name: 'sam' }, grants: [{ operation: 'CompactTable' }] }])
  const names = createAccessReport(set, 'table', ['prod', 'orders']).groups.map(({ name }) => name)
  expect(names).not.toContain('extra operations')
})

it('the namespaces that policies are about are suggested', () => {
  expect(listNamespaces(documents)).toEqual(['/', 'prod/raw', 'prod/sales'])
})

it('a report is a table of words, and the rules of a caller are those that who-can prints', () => {
  const { titles, callers } = formatAccessReport(
    createAccessReport(set, 'table', ['prod', 'sales', 'orders']),
  )
  expect(titles.slice(0, 4)).toEqual(['Caller', 'Sees', 'browse', 'query'])
  const etl = callers.find(({ name }) => name === 'user etl')
  expect(titles.indexOf('write')).toBe(4)
  expect(etl?.cells.slice(0, 4)).toEqual(['nothing', '–', '–', expect.stringMatching(/, if$/)])
  expect(etl?.grants).toMatch(/by sales\/writers \(.*\)\n +if mode == "append"/)
  const raw = formatAccessReport(createAccessReport(set, 'namespace', ['prod', 'raw']))
  expect(raw.forTables).toEqual([
    expect.stringMatching(/^people: raw\/eu \(.*\): columns id number; rows \(/),
  ])
})
