import { describe, expect, it } from 'vitest'
import { createExtraOperations } from '../../../src/catalog-api/extra-operation.ts'
import { permissionGroups } from '../../../src/catalog-api/permissions.ts'
import { parsePolicies } from '../parse-policies.ts'
import { createPolicyVocabulary } from '../../../src/policy/language/policy-vocabulary.ts'
import { compilePolicies } from '../../../src/policy/policy-set.ts'
import { extraOperations } from '../../gateway/support/extra-operations.ts'
import { formatPolicies, type WrittenPolicy } from '../policy-builder.ts'

const vocabulary = createPolicyVocabulary({ extraOperations: createExtraOperations([{ extraOperations }]) })

function parse(policy: Partial<WrittenPolicy>, known = vocabulary) {
  const written = { name: 'p', namespace: [], rules: [], ...policy }
  return parsePolicies(formatPolicies([written]), 'p.yaml', known)
}

function ruleWith(...operations: readonly string[]): Pick<WrittenPolicy, 'rules'> {
  return { rules: [{ id: 'r', effect: 'allow', subjects: { users: ['dev'] }, operations }] }
}

function permissionsOf(...operations: readonly string[]): readonly string[] {
  const { documents, problems } = parse(ruleWith(...operations))
  expect(problems).toEqual([])
  return [...(documents[0]?.rules[0]?.permissions ?? [])]
}

function addedTo(group: string): readonly string[] {
  return permissionsOf(group).filter((name) => !permissionGroups.get(group)?.some((known) => known === name))
}

describe('a rule covers', () => {
  it('an extra operation that it names', () => {
    expect(permissionsOf('CompactTable', 'PrewarmTable')).toEqual(['CompactTable', 'PrewarmTable'])
  })

  it('extra operations by the groups that the settings name, and no other', () => {
    const groups = [...permissionGroups.keys()].filter((group) => addedTo(group).length > 0)
    expect(groups.map((group) => `${group}: ${addedTo(group).join(' ')}`)).toEqual([
      'query: PrewarmTable',
      'write: WritePart',
      'admin: MirrorTable',
      'read: PrewarmTable',
      'change: MirrorTable WritePart',
      'all: PrewarmTable MirrorTable WritePart',
    ])
  })
})

it('a deny rule for all or change, and final, cover extra operations without a group', () => {
  const { documents } = parse({
    final: ['all'],
    rules: [
      { id: 'd', effect: 'deny', subjects: { any: true }, operations: ['all'] },
      { id: 'a', effect: 'allow', subjects: { any: true }, operations: ['all'] },
      { id: 'g', effect: 'deny', subjects: { any: true }, operations: ['read', 'admin', 'drop'] },
      { id: 'c', effect: 'deny', subjects: { any: true }, operations: ['change'] },
      { id: 'ca', effect: 'allow', subjects: { any: true }, operations: ['change'] },
    ],
  })
  const covering = documents[0]?.rules.filter(({ permissions }) =>
    [...permissions].some((name) => name === 'CompactTable'),
  )
  expect(covering?.map(({ id }) => id)).toEqual(['d', 'c'])
  expect([...(documents[0]?.final ?? [])]).toContain('CompactTable')
})

it('a policy that names an operation which no upstream declares is refused with a suggestion', () => {
  const says = 'unknown operation or group "PrewarmTabel"; did you mean "PrewarmTable"?'
  expect(parse(ruleWith('PrewarmTabel')).problems).toMatchObject([
    { file: 'p.yaml', line: 1, message: expect.stringContaining(says) as string },
  ])
  const other = createPolicyVocabulary({})
  expect(parse(ruleWith('PrewarmTable'), other).problems).toMatchObject([
    { message: expect.stringContaining('unknown operation or group "PrewarmTable"') as string },
  ])
})

it('a rule for tables, and a test of a table, may name an extra operation', () => {
  const rule = { ...ruleWith('CompactTable').rules[0], tables: ['orders'] } as WrittenPolicy['rules'][number]
  const test = { as: { user: 'dev' }, operations: ['CompactTable'], table: ['orders'], expect: 'allow' }
  const policy = { rules: [rule], tests: [test] }
  expect(parse(policy)).toMatchObject({ problems: [], tests: [{ requests: [{ kind: 'table' }] }] })
  const other = { ...policy, tests: [{ ...test, table: undefined, namespace: ['orders'] }] }
  expect(parse(other).problems).toMatchObject([
    { message: expect.stringContaining('none of them applies to a namespace') as string },
    { message: expect.stringContaining('CompactTable does not apply to a namespace') as string },
  ])
})

function revisionOf(...operations: readonly string[]): string {
  return compilePolicies(parse(ruleWith(...operations)).documents).revision
}

it('the revision of policies depends on their extra operations', () => {
  expect(revisionOf('read', 'CompactTable')).not.toBe(revisionOf('read'))
  expect(revisionOf('read', 'CompactTable')).not.toBe(revisionOf('read', 'MirrorTable'))
  expect(revisionOf('MirrorTable', 'CompactTable')).toBe(revisionOf('CompactTable', 'MirrorTable'))
})
