import { expect, it } from 'vitest'
import { createExtraOperations } from '../../../src/catalog-api/extra-operation.ts'
import { permissionNames } from '../../../src/catalog-api/permissions.ts'
import { parsePolicies } from '../../../src/policy/language/parse-policies.ts'
import { createPolicyVocabulary } from '../../../src/policy/language/policy-vocabulary.ts'

function parse(content: object, vocabulary = createPolicyVocabulary({})) {
  const head = {
    apiVersion: 'catalog-gateway/v1',
    kind: 'AccessPolicy',
    metadata: { name: 'p' },
    namespace: [],
  }
  return parsePolicies(JSON.stringify({ ...head, ...content }), 'p.yaml', vocabulary)
}

const deny = { id: 'r', effect: 'deny', subjects: { any: true }, operations: ['QueryTable'] }
const moving = [
  'CherryPickTableBranch',
  'CreateTableBranch',
  'DeregisterTable',
  'RenameTable',
  'RestoreTable',
]
const removing = ['DeregisterTable', 'DropMaterializedView', 'DropTable', 'DropView', 'RenameTable']

it.each<[string, object, readonly string[]]>([
  ['a deny', {}, []],
  ['a deny with tables', { tables: ['t'] }, moving],
  ['a deny with tables that allows moves', { tables: ['t'], moves: 'allow' }, []],
  ['an allow with tables', { effect: 'allow', tables: ['t'] }, []],
  ['a deny of one drop', { operations: ['QueryTable', 'DropView'] }, removing],
  [
    'a deny of a rename, which allows the other moves',
    { operations: ['QueryTable', 'RenameTable'], tables: ['t'], moves: 'allow' },
    removing,
  ],
  ['a deny of functions', { operations: ['QueryTable', 'DropFunction'] }, ['DropFunction']],
  ['a deny of namespaces', { operations: ['QueryTable', 'DropNamespace'] }, ['DropNamespace']],
])('%s covers what it implies', (_what, changes, expected) => {
  const { documents, problems } = parse({ rules: [{ ...deny, ...changes }] })
  expect(problems).toEqual([])
  const covered = [...(documents[0]?.rules[0]?.permissions ?? [])].filter((name) => name !== 'QueryTable')
  expect(covered.toSorted()).toEqual(expected)
})

it('operations that are reserved include all that remove a name', () => {
  const { documents } = parse({ final: ['DropView'], rules: [] })
  expect([...(documents[0]?.final ?? [])].toSorted()).toEqual(removing)
})

const declare = (name: string, rest: object) => ({
  name,
  method: 'POST' as const,
  path: `/v1/table/{id}/${name.toLowerCase()}`,
  effect: 'change' as const,
  query: {},
  idMembers: {},
  members: [],
  body: 'json' as const,
  response: 'json' as const,
  ...rest,
})

it('extra operations that change a table may move it, and those in the group drop may remove it', () => {
  const declared = [
    declare('MirrorTable', {}),
    declare('PurgeTable', { group: 'drop' }),
    declare('PeekTable', { effect: 'read' }),
  ]
  const vocabulary = createPolicyVocabulary({
    extraOperations: createExtraOperations([{ extraOperations: declared }]),
  })
  const covered = (changes: object) => {
    const { documents } = parse({ rules: [{ ...deny, ...changes }] }, vocabulary)
    return [...(documents[0]?.rules[0]?.permissions ?? [])].filter((name) => /Mirror|Purge|Peek/.test(name))
  }
  expect(covered({ tables: ['t'] })).toEqual(['MirrorTable', 'PurgeTable'])
  expect(covered({ operations: ['DropTable'] })).toEqual(['PurgeTable'])
})

it('a protection denies everything to all callers but the exceptions', () => {
  const { documents, problems } = parse({ protect: [{ id: 'p', tables: ['t*'], except: { users: ['al'] } }] })
  expect(problems).toEqual([])
  expect(documents[0]?.rules).toMatchObject([
    {
      id: 'p',
      effect: 'deny',
      tables: ['t*'],
      subjects: { any: true, anonymous: true, except: { users: ['al'] } },
    },
  ])
  expect([...(documents[0]?.rules[0]?.permissions ?? [])].toSorted()).toEqual(permissionNames.toSorted())
})

it.each<[string, object, string]>([
  [
    'moves in an allow',
    { rules: [{ ...deny, effect: 'allow', tables: ['t'], moves: 'allow' }] },
    'rules[0].moves is allowed only in a deny with "tables"',
  ],
  [
    'moves without tables',
    { rules: [{ ...deny, moves: 'allow' }] },
    'rules[0].moves is allowed only in a deny with "tables"',
  ],
  [
    'another value of moves',
    { rules: [{ ...deny, tables: ['t'], moves: 'deny' }] },
    'rules[0].moves is "deny"; expected allow',
  ],
  ['a protection without tables', { protect: [{ id: 'p' }] }, 'protect[0].tables is missing'],
  [
    'a protection with an effect',
    { protect: [{ id: 'p', tables: ['t'], effect: 'deny' }] },
    'unknown field "protect[0].effect"',
  ],
  [
    'a protection named as a rule',
    { protect: [{ id: 'r', tables: ['t'] }], rules: [deny] },
    'rules[0]: duplicate rule id "r"',
  ],
  [
    'a test of a transaction without a table',
    { rules: [], tests: [{ operations: ['browse'], transaction: ['1'], expect: 'deny' }] },
    'tests[0].transaction names no table; expected the id of the table and the transaction',
  ],
])('reports %s', (_what, content, message) => {
  expect(
    parse(content)
      .problems.map((problem) => problem.message)
      .join('\n'),
  ).toContain(message)
})
