import { expect, it } from 'vitest'
import { lintPolicies } from '../../../../src/policy/analysis/lint/lint-policies.ts'
import { compilePolicySet } from '../../policy-builder.ts'

function found(effect: 'allow' | 'deny', operations: readonly string[], when: string): readonly string[] {
  const rule = { id: 'r', effect, subjects: { any: true as const }, operations, when }
  return lintPolicies(compilePolicySet([{ name: 'p', namespace: ['a'], rules: [rule] }]))
    .filter(({ check }) => check === 'condition')
    .map(({ level, message }) => `${level}: ${message.replace('p/r has a condition that ', '')}`)
}

it.each([
  ['allow', 'error: depends on branch, which is always unknown for DropTable, so it never applies'],
  ['deny', 'error: depends on branch, which is always unknown for DropTable, so it always applies'],
] as const)(
  'decides against the caller if a fact is unknown for all operations of a rule: %s',
  (effect, message) => {
    expect(found(effect, ['DropTable'], 'branch == "main"')).toEqual([message])
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
    'error: depends on branch, which is always unknown for DropTable, or is always false, so it never applies',
  ],
] as const)('reports a condition with a constant result: %s %s if %s', (effect, names, when, message) => {
  expect(found(effect, names, when)).toEqual([message])
})

it.each([
  ['deny', ['DropTable'], 'branch == "main" && "ops" in principal.groups'],
  ['deny', ['DropTable'], 'now > timestamp("2027-01-01T00:00:00Z") || 1 == 2'],
  ['allow', ['CreateTable'], 'branch == "main"'],
  ['allow', ['UpdateTable'], 'branch == "main"'],
  ['allow', ['OverwriteTable'], 'branch == "main"'],
  ['allow', ['DropTable'], 'branch == "main" || operation == "DropTable" && id[0] == "a"'],
] as const)('accepts a condition that depends on the request: %s %s if %s', (effect, names, when) => {
  expect(found(effect, names, when)).toEqual([])
})
