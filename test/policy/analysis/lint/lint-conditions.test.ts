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

it('warns of a fact that no operation of the rule has', () => {
  const when = 'mode == "append" || branch == "ci/7"'
  expect(findings('allow', ['DeleteFromTable', 'UpdateTable'], when)).toEqual([
    'warning fact: has a condition on mode, which is empty for all its operations',
  ])
  expect(findings('deny', ['read'], '"ticket" in metadata && branch == "main"')).toEqual([
    'error condition: has a condition that is always false, so it never applies',
    'warning fact: has a condition on metadata, which is empty for all its operations',
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

/** The findings about constant parts of the condition. */
function constants(...rule: Parameters<typeof findings>): readonly string[] {
  const found = findings(...rule).filter((text) => /^\w+ condition: /.test(text))
  return found.map((text) => text.replace(' condition: has a condition that', ':'))
}

it.each([
  ['allow', 'error: depends on branch, which is never known, so it never applies'],
  ['deny', 'error: depends on branch, which is never known, so it always applies'],
] as const)(
  'decides against the caller if a fact is unknown for all operations of a rule: %s',
  (effect, message) => {
    expect(constants(effect, ['DropTable'], 'branch == "main"')).toEqual([message])
  },
)

it.each([
  ['allow', ['read'], '1 == 2', 'error: is always false, so it never applies'],
  ['allow', ['read'], '1 == 1 || branch == "x"', 'warning: is always true; remove "when"'],
  ['deny', ['read'], '[1].exists(x, [x][2] == 1)', 'error: always fails, so it always applies'],
  ['allow', ['DeleteFromTable'], 'mode == "append"', 'error: is always false, so it never applies'],
  ['deny', ['DropTable'], 'branch == "main" && tag == "x"', 'error: is always false, so it never applies'],
  ['allow', ['OverwriteTable'], 'mode == "overwrite"', 'warning: is always true; remove "when"'],
  [
    'allow',
    ['DropTable', 'ListTables'],
    'branch == "main"',
    'error: depends on branch, which is never known, or is always false, so it never applies',
  ],
] as const)('reports a condition with a constant result: %s %s if %s', (effect, names, when, message) => {
  expect(constants(effect, names, when)).toEqual([message])
})

it.each([
  ['deny', ['DropTable'], 'branch == "main" && "ops" in principal.groups'],
  ['deny', ['DropTable'], 'now > timestamp("2027-01-01T00:00:00Z") || 1 == 2'],
  ['allow', ['CreateTable'], 'branch == "main"'],
  ['allow', ['UpdateTable'], 'branch == "main"'],
  ['allow', ['OverwriteTable'], 'branch == "main"'],
  ['allow', ['DropTable'], 'branch == "main" || operation == "DropTable" && id[0] == "a"'],
] as const)('accepts a condition that depends on the request: %s %s if %s', (effect, names, when) => {
  expect(constants(effect, names, when)).toEqual([])
})
