import { expect, it } from 'vitest'
import { lintPolicies } from '../../../../src/policy/analysis/lint/lint-policies.ts'
import { compilePolicySet } from '../../policy-builder.ts'

type Effect = 'allow' | 'deny'

function findings(effect: Effect, operations: readonly string[], when: string): readonly string[] {
  const rule = { id: 'r', effect, subjects: { any: true as const }, operations, when }
  return lintPolicies(compilePolicySet([{ name: 'p', namespace: ['a'], rules: [rule] }]))
    .filter(({ check }) => check === 'condition' || check === 'fact' || check === 'pattern')
    .map(({ level, check, message }) => `${level} ${check}: ${message.replace('p/r ', '')}`)
}

it('warns of a fact that no operation of the rule has, and names the operations that have it', () => {
  const when = 'mode == "append" || branch == "ci/7"'
  expect(findings('allow', ['DeleteFromTable', 'UpdateTable'], when)).toEqual([
    'warning fact: has a condition on mode, which is empty for all its operations; it is a fact of CreateNamespace, ' +
      'DropNamespace, RegisterTable, InsertIntoTable, CreateTable, OverwriteTable, ChooseLocation, ChooseStorage, VendCredentials',
  ])
  expect(findings('deny', ['read'], '"ticket" in metadata && branch == "main"')).toEqual([
    'error condition: has a condition that is always false, so it never applies',
    'warning fact: has a condition on metadata, which is empty for all its operations; it is a fact of ' +
      'CreateTableVersion',
  ])
})

it.each<[Effect, readonly string[], string]>([
  ['allow', ['write'], 'mode != "overwrite" && branch.like("ci/*")'],
  ['deny', ['all'], 'location != "" || tag == "v1"'],
  ['allow', ['RenameTable'], 'destination[0] == "archive"'],
  ['allow', ['DropTable', 'write'], 'branch.like("ci/*") || operation == "DropTable"'],
  ['deny', ['OverwriteTable'], 'branch == "main"'],
])('accepts a condition on facts that some operations have: %s %s if %s', (...row) => {
  expect(findings(...row)).toEqual([])
})

it('does not report operations of the group change', () => {
  expect(findings('deny', ['change'], 'branch != "" && !branch.like("ci/*")')).toEqual([])
})

it('does not report commit requirements', () => {
  const commits = { folders: ['lake'], metadata: ['ticket'] }
  const policy = { name: 'p', namespace: [], commits, rules: [] }
  expect(lintPolicies(compilePolicySet([policy]))).toEqual([])
})
