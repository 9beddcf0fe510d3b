import { expect, it } from 'vitest'
import { lintManifests } from '../../../../src/policy/analysis/lint/lint-manifests.ts'
import { compilePolicies } from '../../../../src/policy/policy-set.ts'
import { parseDocuments } from '../../parse-documents.ts'
import type { WrittenCommits, WrittenPolicy, WrittenRule } from '../../policy-builder.ts'

function found(policies: readonly WrittenPolicy[]): readonly string[] {
  const documents = parseDocuments(policies)
  const set = compilePolicies(documents)
  return lintManifests(set).map(({ level, check, message }) => `${level} ${check} ${message}`)
}

const rule = (operations: readonly string[], rest: Partial<WrittenRule> = {}): WrittenRule => ({
  id: 'r',
  effect: 'allow',
  subjects: { groups: ['team'] },
  operations,
  ...rest,
})

const policy = (rules: readonly WrittenRule[], commits?: WrittenCommits): WrittenPolicy => ({
  name: 'p',
  namespace: ['a'],
  rules,
  ...(commits && { commits }),
})

const folders = { folders: ['lake/a'] }

it.each([
  ['commit', 'allows "commit", which includes overwriting: '],
  ['CreateTableVersion', 'allows CreateTableVersion: '],
])('warns of a rule that allows %s without required folders', (operation, message) => {
  expect(found([policy([rule(['read', 'write', operation], { when: 'branch.like("ci/*")' })])])).toEqual([
    `warning manifest p/r ${message}a manifest can replace all rows, columns and indexes, and its files can name any object that the credential of the catalog reads; ` +
      'require "folders" of commits here or above',
  ])
})

it('reports an info if the callers may overwrite by another rule or change columns', () => {
  const other = { ...rule(['drop']), id: 'other' }
  expect(found([policy([rule(['commit']), other])])).toEqual([expect.stringMatching(/^info manifest p\/r /)])
  expect(found([policy([rule(['commit', 'admin'])])])).toEqual([
    expect.stringMatching(/^info manifest p\/r /),
  ])
})

it.each<[string, readonly WrittenPolicy[]]>([
  ['folders are required there', [policy([rule(['commit'])], folders)]],
  [
    'folders are required above',
    [policy([rule(['commit'])]), { ...policy([], folders), name: 'top', namespace: [] }],
  ],
  ['the rule allows overwriting, too', [policy([rule(['all'])])]],
  [
    'a condition is on the manifest',
    [policy([rule(['commit'], { when: 'manifestPath.isUnder("lake/a")' })])],
  ],
  ['commits are denied', [policy([rule(['commit'], { effect: 'deny' })])]],
  ['no commit is allowed', [policy([rule(['read', 'write', 'create'])])]],
])('reports nothing if %s', (_what, policies) => {
  expect(found(policies)).toEqual([])
})

it.each<[string, readonly WrittenPolicy[]]>([
  ['beneath', [policy([rule(['commit'])]), { ...policy([], folders), name: 'sub', namespace: ['a', 'b'] }]],
  ['for others', [policy([rule(['commit'])], { ...folders, except: { groups: ['team'] } })]],
])('does not accept folders required %s', (_what, policies) => {
  expect(found(policies)).toHaveLength(1)
})

it.each([{ any: true }, { anonymous: true }] as const)(
  'warns of commits by %j in required folders',
  (subjects) => {
    expect(found([policy([rule(['commit'], { subjects })], folders)])).toEqual([
      expect.stringMatching(/^warning manifest p\/r allows CreateTableVersion to every caller: /),
    ])
  },
)
