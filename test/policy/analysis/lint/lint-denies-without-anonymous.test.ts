import { expect, it } from 'vitest'
import { lintPolicies } from '../../../../src/policy/analysis/lint/lint-policies.ts'
import { compilePolicySet, type WrittenPolicy, type WrittenRule } from '../../policy-builder.ts'

const policy = (
  name: string,
  namespace: readonly string[],
  rule: Partial<WrittenRule>,
  inherit = true,
): WrittenPolicy => ({
  name,
  namespace,
  inherit,
  rules: [{ id: 'r', effect: 'allow', subjects: { anonymous: true }, operations: ['read'], ...rule }],
})

const denied: Partial<WrittenRule> = { effect: 'deny', subjects: { any: true } }
const secrets: Partial<WrittenRule> = { ...denied, operations: ['QueryTable'], tables: ['secret*'] }

it.each<[what: string, deny: WrittenPolicy, grant: WrittenPolicy, isReported: boolean]>([
  ['of the same namespace', policy('deny', ['x'], denied), policy('grant', ['x'], {}), true],
  ['beneath the grant', policy('deny', ['x', 'y'], denied), policy('grant', ['x'], {}), true],
  ['above the grant', policy('deny', [], denied), policy('grant', ['x'], {}), true],
  ['of tables beneath the grant', policy('deny', ['x', 'y'], secrets), policy('grant', ['x'], {}), true],
  ['of tables above the grant', policy('deny', [], secrets), policy('grant', ['x'], {}), false],
  ['where the grant is not inherited', policy('deny', ['x'], denied, false), policy('grant', [], {}), false],
  ['elsewhere', policy('deny', ['y'], denied), policy('grant', ['x'], {}), false],
  [
    'of something else',
    policy('deny', ['x'], { ...denied, operations: ['drop'] }),
    policy('grant', ['x'], {}),
    false,
  ],
  [
    'that names such callers, too',
    policy('deny', ['x'], { ...denied, subjects: { everyone: true } }),
    policy('grant', ['x'], {}),
    false,
  ],
  [
    'that is about one user',
    policy('deny', ['x'], { ...denied, subjects: { users: ['ann'] } }),
    policy('grant', ['x'], {}),
    false,
  ],
  [
    'where nothing is for such callers',
    policy('deny', ['x'], denied),
    policy('grant', ['x'], { subjects: { any: true } }),
    false,
  ],
])('reports a deny for all authenticated callers that does not cover anonymous ones: %s', (...row) => {
  const [, deny, grant, isReported] = row
  const findings = lintPolicies(compilePolicySet([deny, grant])).filter(({ check }) => check === 'anonymous')
  expect(findings.map(({ level }) => level)).toEqual(isReported ? ['warning'] : [])
  if (!isReported) return
  expect(findings[0]?.message).toMatch(
    /^deny\/r does not cover anonymous callers, which may do the same: \w+, by grant\/r \(policies\.yaml:\d+\); expected "everyone: true"$/,
  )
})
