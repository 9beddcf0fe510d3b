import { expect, it } from 'vitest'
import { listSteps } from '../../../src/policy/analysis/steps.ts'
import { pending } from '../../../src/policy/conditions/authorization-request.ts'
import { objectPosition } from '../../../src/policy/engine/object-position.ts'
import { knownFromPrincipal, knownFromSubject } from '../../../src/policy/engine/subject.ts'
import type { PolicySet } from '../../../src/policy/policy-set.ts'
import { compilePolicySet, createAuthorizationRequest, createCaller } from '../policy-builder.ts'

const all = { subjects: { any: true }, operations: ['DropTable'] } as const
const set = compilePolicySet([
  {
    name: 'root',
    namespace: [],
    final: ['DropTable'],
    rules: [
      { ...all, id: 'denies-another-caller', effect: 'deny', subjects: { users: ['eve'] } },
      { ...all, id: 'is-not-inherited', effect: 'allow' },
      { ...all, id: 'names-another-operation', effect: 'allow', operations: ['QueryTable'] },
    ],
  },
  {
    name: 'prod',
    namespace: ['prod'],
    inherit: false,
    rules: [
      { ...all, id: 'denies-another-table', effect: 'deny', tables: ['x*'] },
      { ...all, id: 'denies-a-branch', effect: 'deny', when: 'branch == "dev"' },
      { ...all, id: 'denies-by-a-missing-claim', effect: 'deny', when: 'principal.claims.team == "x"' },
      { ...all, id: 'is-reserved-above', effect: 'allow', tables: ['o*'] },
    ],
  },
])

const request = createAuthorizationRequest(createCaller('ann'), 'DropTable', 'table', ['prod', 'orders'])

function stepsOf(
  policies: PolicySet,
  position = objectPosition('table', request.id),
  caller = knownFromPrincipal(request.principal),
) {
  return listSteps(policies, { permission: 'DropTable', position, caller, input: request })
}

it('each rule about an operation has an outcome, with the error of a condition that failed', () => {
  const { rules, possible } = stepsOf(set)
  const outcomes = rules.map(({ rule, outcome, error }) => [rule.id, outcome, error !== undefined])
  expect(outcomes).toEqual([
    ['denies-another-caller', 'other-caller', false],
    ['is-not-inherited', 'stopped', false],
    ['denies-another-table', 'other-table', false],
    ['denies-a-branch', 'false', false],
    ['denies-by-a-missing-claim', 'failed', true],
    ['is-reserved-above', 'reserved', false],
  ])
  expect(possible.map(({ rule }) => rule.id)).toEqual(['denies-by-a-missing-claim'])
  expect(set.decide(request).rule?.rule).toBe('denies-by-a-missing-claim')
})

it('a rule about tables says nothing of their namespace', () => {
  const { rules } = stepsOf(set, objectPosition('namespace', ['prod']))
  expect(rules.find(({ rule }) => rule.tables !== undefined)?.outcome).toBe('other-table')
})

it.each([
  ['deny', 'open'],
  ['allow', 'failed'],
] as const)('a %s with a failed condition that may name the caller is %s', (effect, expected) => {
  const rule = { ...all, id: 'r', effect, subjects: { groups: ['g'] }, when: 'principal.claims.team == "x"' }
  const policies = compilePolicySet([{ name: 'p', namespace: [], rules: [rule] }])
  const { rules } = stepsOf(policies, undefined, knownFromSubject({ kind: 'user', name: 'ann' }))
  expect(rules[0]?.outcome).toBe(expected)
})

it('what may allow a permission that is reserved above allows nothing', () => {
  const may = { ...all, id: 'may', effect: 'allow', when: 'branch == "dev"' } as const
  const reserved = compilePolicySet([
    { name: 'root', namespace: [], final: ['DropTable'], rules: [] },
    { name: 'prod', namespace: ['prod'], rules: [may] },
  ])
  const asked = createAuthorizationRequest(createCaller('ann'), 'DropTable', 'table', request.id, {
    operation: { branch: pending },
  })
  expect(reserved.decidePartially(asked)).toMatchObject({ allowed: false })
})
