import { expect, it } from 'vitest'
import type { DelegatedNamespace } from '../../../../src/config/policy-kubernetes-settings.ts'
import { createDelegation, createResource, grant, judge, platform } from './judged-resources.ts'

const system = { namespace: 'catalog-system' }
const teams = { ...grant, forEach: { team: ['eu', 'us'] }, namespace: ['prod', 'sales', '{team}'] }
const deny = { id: 'deny', effect: 'deny', subjects: { users: ['{team}-mallory'] }, operations: ['write'] }
const typo = { id: 'typo', effect: 'allow', subjects: { any: true }, operations: ['raed'] }

it('each value is a document, named after the resource and the value', () => {
  const [verdict] = judge(createDelegation(), createResource('p', teams))
  expect(verdict).toMatchObject({
    reason: 'Accepted',
    documents: [
      { name: 'team-a/p[eu]', namespace: ['prod', 'sales', 'eu'], file: 'accesspolicies/team-a/p' },
      { name: 'team-a/p[us]', namespace: ['prod', 'sales', 'us'], file: 'accesspolicies/team-a/p' },
    ],
  })
})

it.for<[attack: string, content: object, message: string]>([
  [
    'the namespace of another team',
    { ...grant, forEach: { team: ['sales', 'finance'] }, namespace: ['prod', '{team}'] },
    'namespace: ["prod","finance"] is not delegated; expected it in ["prod","sales"] (team: finance)',
  ],
  [
    'the group of another team',
    { ...teams, rules: [{ ...grant.rules[0], subjects: { groups: ['{team}', 'sales'] } }] },
    '19: rules[0].subjects.groups: "{team}" is not delegated',
  ],
  [
    'an operation',
    { ...teams, rules: [{ ...grant.rules[0], operations: ['RegisterTable'] }] },
    '19: rules[0].operations: not delegated: RegisterTable',
  ],
  [
    'a deny',
    { ...teams, rules: [deny] },
    '19: rules[0].effect: delegated policies only grant; the platform restricts',
  ],
])('one value beyond a delegation refuses the whole resource: %s', ([, content, message]) => {
  const [verdict] = judge(createDelegation(), createResource('p', content))
  expect(verdict).toMatchObject({ reason: 'NotDelegated', message })
  expect(verdict?.documents).toBeUndefined()
})

it('of an invalid resource of the platform, the denies of each value stay', () => {
  const [verdict] = judge(platform, createResource('p', { ...teams, rules: [deny, typo] }, system))
  expect(verdict).toMatchObject({
    reason: 'Invalid',
    documents: [
      { name: 'catalog-system/p[eu]', rules: [{ id: 'deny', subjects: { users: ['eu-mallory'] } }] },
      { name: 'catalog-system/p[us]', rules: [{ id: 'deny', subjects: { users: ['us-mallory'] } }] },
    ],
  })
  expect(verdict?.message.split('\n')).toHaveLength(1)
})

it('denies of an invalid namespace apply nowhere', () => {
  const content = { ...teams, namespace: ['{team}', '{taem}'], rules: [deny] }
  expect(judge(platform, createResource('p', content, system))).toMatchObject([
    { reason: 'Invalid', documents: [] },
  ])
})

it.for<[what: string, limits: Partial<DelegatedNamespace>, message: string]>([
  [
    'policies',
    { maxPolicies: 2 },
    'forEach has 2 values, each a policy, and 1 policies are older; expected at most 2 together',
  ],
  [
    'conditions',
    { maxConditions: 1 },
    'older policies have 0 conditions and this one 2; expected at most 1 together',
  ],
])('each value counts among the %s', ([, limits, message]) => {
  const rules = [{ ...grant.rules[0], when: 'branch == "{team}"' }]
  const verdicts = judge(
    createDelegation(limits),
    createResource('a', grant),
    createResource('b', { ...teams, rules }),
  )
  expect(verdicts).toMatchObject([{ reason: 'Accepted' }, { reason: 'QuotaExceeded', message }])
})

it('values that are no texts are an error like any other', () => {
  const content = { ...teams, forEach: { team: [{ toString: 'x' }, null] } }
  expect(judge(createDelegation(), createResource('p', content))).toMatchObject([{ reason: 'Invalid' }])
})

it('the bytes are those with the longest value in place of a variable', () => {
  const forEach = { t: ['x'.repeat(100)] }
  const rules = [{ ...grant.rules[0], subjects: { users: Array.from({ length: 100 }, () => 'corp:{t}') } }]
  const content = { ...teams, forEach, namespace: ['prod', 'sales', '{t}'], rules }
  const [verdict] = judge(createDelegation({ maxPolicyBytes: 10_000 }), createResource('p', content))
  expect(verdict).toMatchObject({ reason: 'QuotaExceeded' })
  expect(Number(/has (\d+) bytes/.exec(verdict?.message ?? '')?.[1])).toBeGreaterThan(10_000)
})
