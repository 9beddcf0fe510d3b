import { expect, it } from 'vitest'
import { lintCommitReads } from '../../../../src/policy/analysis/lint/lint-commit-reads.ts'
import { parseDocuments } from '../../parse-documents.ts'
import type { WrittenRule } from '../../policy-builder.ts'

function found(rule: Partial<WrittenRule>, namespace: readonly string[] = ['a']): readonly string[] {
  const written: WrittenRule = {
    id: 'r',
    effect: 'allow',
    subjects: { groups: ['team'] },
    operations: ['commit'],
    ...rule,
  }
  const commits = { folders: ['lake/a'] }
  const documents = parseDocuments([{ name: 'p', namespace, rules: [written], commits }])
  return lintCommitReads(documents, []).map(({ level, check, message }) => `${level} ${check} ${message}`)
}

const read = 'the files of a version can name any object that the credential of the catalog reads'

it.each(['commit', 'CreateTableVersion', 'all'])(
  'reports a rule that allows %s to a group, whatever folders are required',
  (operation) => {
    const [message, ...others] = found({ operations: [operation] })
    expect(message).toContain(`info commit-reads p/r allows CreateTableVersion to a group: ${read}`)
    expect(others).toEqual([])
  },
)

it('reports no rule whose manifests are reported', () => {
  const rule = { id: 'r', effect: 'allow' as const, subjects: { groups: ['team'] }, operations: ['commit'] }
  const documents = parseDocuments([{ name: 'p', namespace: ['a'], rules: [rule] }])
  const reported = lintCommitReads(documents, [])
  expect(reported).toHaveLength(1)
  expect(lintCommitReads(documents, reported)).toEqual([])
})

it.each([{ any: true }, { anonymous: true }] as const)('warns of a rule for %j', (subjects) => {
  expect(found({ subjects })).toEqual([
    expect.stringContaining('warning commit-reads p/r allows CreateTableVersion to every caller'),
  ])
})

it.each<[what: string, rule: Partial<WrittenRule>, namespace?: readonly string[]]>([
  ['names its users', { subjects: { users: ['etl'] } }],
  ['names service accounts', { subjects: { users: ['cluster:system:serviceaccount:etl:loader'] } }],
  ['denies', { effect: 'deny', subjects: { any: true } }],
  ['allows other operations', { operations: ['read', 'write', 'BatchCommitTables'] }],
  ['allows to read everything', { operations: ['all'] }, []],
])('reports no rule that %s', (_what, rule, namespace) => {
  expect(found(rule, namespace)).toEqual([])
})
