import { expect, it } from 'vitest'
import { createExtraOperations } from '../../../src/catalog-api/extra-operation.ts'
import { getOperation, operationNames } from '../../../src/catalog-api/operations.ts'
import { permissionNames } from '../../../src/catalog-api/permissions.ts'
import { readExtraOperations } from '../../gateway/support/extra-operations.ts'
import { parsePolicies } from '../parse-policies.ts'
import { formatPolicies } from '../policy-builder.ts'
import { createPolicyVocabulary } from '../../../src/policy/language/policy-vocabulary.ts'

function parse(content: object, vocabulary = createPolicyVocabulary({})) {
  const written = { name: 'p', namespace: [], rules: [], ...content }
  return parsePolicies(formatPolicies([written]), 'p.yaml', vocabulary)
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
  ['an allow with tables', { effect: 'allow', tables: ['t'] }, []],
  ['a deny of one drop', { operations: ['QueryTable', 'DropView'] }, removing],
  [
    'a deny of a rename, and of the other moves',
    { operations: ['QueryTable', 'RenameTable'], tables: ['t'] },
    [...new Set([...removing, ...moving])].toSorted(),
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

it('extra operations that change a table may move it, and those in the group drop may remove it', () => {
  const declared = readExtraOperations([
    { name: 'MirrorTable', path: '/v1/table/{id}/mirror' },
    { name: 'PurgeTable', path: '/v1/table/{id}/purge', group: 'drop' },
    { name: 'PeekTable', path: '/v1/table/{id}/peek', effect: 'read' },
  ])
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

it('a deny of all to everyone denies everything to all callers but the exceptions', () => {
  const subjects = { everyone: true, except: { users: ['al'] } }
  const { documents, problems } = parse({
    rules: [{ ...deny, subjects, operations: ['all'], tables: ['t*'] }],
  })
  expect(problems).toEqual([])
  const [rule] = documents[0]?.rules ?? []
  expect(rule?.subjects).toMatchObject({ any: true, anonymous: true, except: { users: ['al'] } })
  expect([...(rule?.permissions ?? [])].toSorted()).toEqual(permissionNames.toSorted())
})

function changesIn(effect: string): readonly string[] {
  const { documents } = parse({ rules: [{ ...deny, effect, operations: ['change'] }] })
  return [...(documents[0]?.rules[0]?.permissions ?? [])]
}

it('a deny of changes covers what changes something, whatever its group, and an allow what has a group', () => {
  const changing = operationNames.filter((name) => getOperation(name).effect !== 'read')
  expect(changesIn('deny').toSorted()).toEqual([...changing, 'OverwriteTable'].toSorted())
  const grouped = changing.filter((name) => getOperation(name).group !== undefined)
  expect(changesIn('allow').toSorted()).toEqual([...grouped, 'OverwriteTable'].toSorted())
})

it('expands a list of operations whatever was expanded before', () => {
  const vocabulary = createPolicyVocabulary({})
  // A forgotten comma makes one unknown name of two.
  expect(vocabulary.cover(['DropTable DescribeTable'], 'deny').permissions).toEqual(new Set())
  expect(vocabulary.cover(['DropTable', 'DescribeTable'], 'allow').permissions).toEqual(
    new Set(['DropTable', 'DescribeTable']),
  )
  const { permissions, implied } = vocabulary.cover(['DropTable', 'DescribeTable'], 'deny')
  expect([...permissions].filter((permission) => !implied.has(permission))).toEqual([
    'DropTable',
    'DescribeTable',
  ])
})
