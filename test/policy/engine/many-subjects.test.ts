import { expect, it } from 'vitest'
import { oracleDecide } from '../decision-oracle.ts'
import {
  createAuthorizationRequest,
  createCaller,
  compilePolicySet,
  type WrittenPolicy,
  type WrittenRule,
} from '../policy-builder.ts'

/* Rules are found by subject, and the first in order decides, however many rules and subjects a namespace has. */

function rule(id: string, effect: 'allow' | 'deny', ...users: readonly string[]): WrittenRule {
  return { id, effect, subjects: { users }, operations: ['read'] }
}

const many = Array.from({ length: 60 }, (_, index) =>
  rule(
    `many-${index}`,
    index % 3 === 0 ? 'deny' : 'allow',
    `user-${index}`,
    `user-${index + 7}`,
    `user-${index}`,
  ),
)

const policies: readonly WrittenPolicy[] = [
  { name: 'root', namespace: [], rules: [rule('top', 'allow', 'user-1')] },
  { name: 'many', namespace: ['many'], rules: many.slice(0, 40) },
  { name: 'more', namespace: ['many'], rules: many.slice(40) },
  { name: 'beneath', namespace: ['many', 'beneath'], rules: [rule('low', 'allow', 'user-2', 'user-3')] },
  {
    name: 'beside',
    namespace: ['beside'],
    rules: [rule('next', 'deny', 'user-1'), rule('last', 'allow', 'user-9')],
  },
]

it('names the first applying rule even if the caller has more subjects than the namespace', () => {
  const set = compilePolicySet(policies)
  const others = Array.from({ length: 200 }, (_, index) => `group-${index}`)
  const grouped: readonly WrittenPolicy[] = [
    {
      name: 'grouped',
      namespace: ['grouped'],
      rules: Array.from({ length: 120 }, (_, index) => ({
        id: `of-${index}`,
        effect: index % 2 === 0 ? 'allow' : 'deny',
        subjects: { groups: [`team-${(index * 7) % 120}`] },
        operations: ['read'],
      })),
    },
    // Groups that no policy names have no effect.
    {
      name: 'elsewhere',
      namespace: ['elsewhere'],
      rules: [{ id: 'others', effect: 'allow', subjects: { groups: others }, operations: ['read'] }],
    },
  ]
  const bySubject = compilePolicySet(grouped)
  // Groups in the order of the rules and in reverse.
  for (const teams of [
    ['team-0', 'team-14', 'team-28', 'team-2'],
    ['team-2', 'team-28', 'team-14', 'team-0'],
    ['team-1', 'team-3', 'team-7', 'team-14'],
    ['team-7', 'team-3', 'team-1'],
    ['team-4'],
  ]) {
    for (const groups of [teams, [...others, ...teams], [...teams, ...others]]) {
      const request = createAuthorizationRequest(createCaller('ann', ...groups), 'DescribeTable', 'table', [
        'grouped',
        'orders',
      ])
      const { allowed, rule } = bySubject.decide(request)
      const expected = oracleDecide(grouped, request)
      expect([allowed, rule && `${rule.policy}/${rule.rule}`]).toEqual([expected.allowed, expected.rule])
    }
  }
  for (let index = 0; index < 70; index++) {
    const request = createAuthorizationRequest(
      createCaller(`user-${index}`, ...others),
      'DescribeTable',
      'table',
      ['many', 'orders'],
    )
    const { allowed, rule } = set.decide(request)
    const expected = oracleDecide(policies, request)
    expect([allowed, rule && `${rule.policy}/${rule.rule}`]).toEqual([expected.allowed, expected.rule])
  }
})

it('decides by many subjects of a namespace and of its ancestors', () => {
  const set = compilePolicySet(policies)
  const namespaces = [[], ['many'], ['many', 'beneath'], ['beside']]
  for (let index = 0; index < 70; index++) {
    for (const namespace of namespaces) {
      const request = createAuthorizationRequest(createCaller(`user-${index}`), 'DescribeTable', 'table', [
        ...namespace,
        'orders',
      ])
      const { allowed, rule } = set.decide(request)
      const expected = oracleDecide(policies, request)
      expect([allowed, rule && `${rule.policy}/${rule.rule}`]).toEqual([expected.allowed, expected.rule])
    }
  }
})
