import { expect, it } from 'vitest'
import type { ObjectKind } from '../../../src/catalog-api/operations.ts'
import type { Permission } from '../../../src/catalog-api/permissions.ts'
import { isConcealed } from '../../../src/policy/visibility/concealment.ts'
import {
  createAuthorizationRequest,
  createCaller,
  compilePolicySet,
  type WrittenPolicy,
  type WrittenRule,
} from '../policy-builder.ts'

const alice = createCaller('alice', 'sales')

function rule(id: string, effect: 'allow' | 'deny', more: Partial<WrittenRule> = {}): WrittenRule {
  return { id, effect, subjects: { groups: ['sales'] }, operations: ['all'], ...more }
}

type Question = readonly [permission: Permission, kind: ObjectKind, path: string]

/** Who decides as `policy/rule`; nobody if no rule does. */
function decider(policies: readonly WrittenPolicy[], [permission, kind, path]: Question): string {
  const request = createAuthorizationRequest(alice, permission, kind, path === '' ? [] : path.split('/'))
  const { allowed, rule } = compilePolicySet(policies).decide(request)
  return rule === undefined ? 'nobody' : `${allowed ? 'allowed' : 'denied'} by ${rule.policy}/${rule.rule}`
}

const policy = (name: string, path: string, rules: readonly WrittenRule[], more = {}): WrittenPolicy => ({
  name,
  namespace: path === '' ? [] : path.split('/'),
  rules,
  ...more,
})
const sales = [policy('p', 'prod/sales', [rule('r', 'allow')])]
const denyAbove = [
  policy('top', '', [rule('no', 'deny', { operations: ['drop'] })]),
  policy('low', 'a/b', [rule('yes', 'allow')], { inherit: false }),
]
const walled = [
  policy('top', '', [rule('all', 'allow')]),
  policy('beside', 'hr', [rule('own', 'allow', { operations: ['query'] })]),
  policy('stop', 'hr', [], { inherit: false }),
]
const reserved = [
  policy('top', '', [], { final: ['QueryTable'] }),
  policy('low', 'a', [rule('all', 'allow')]),
]
const events = [policy('p', 'a', [rule('r', 'allow', { tables: ['evt_*'] })])]
const namesOfUsers = [policy('p', 'a', [rule('r', 'allow', { subjects: { users: ['sales'] } })])]
const cafe = [policy('p', 'caf\u00e9', [rule('r', 'allow')])]

// decisions-match-oracle.test.ts generates most of these and all others.
it.each<[what: string, policies: readonly WrittenPolicy[], ...question: Question, decided: string]>([
  ['no table of the same path', sales, 'DropTable', 'table', 'prod/sales', 'nobody'],
  ['a deny above overrides inherit: false', denyAbove, 'DropTable', 'table', 'a/b/t', 'denied by top/no'],
  ['inherit: false ends allows from above', walled, 'DropTable', 'table', 'hr/t', 'nobody'],
  ['final ends allows of one operation', reserved, 'QueryTable', 'table', 'a/t', 'nobody'],
  ['no namespaces', events, 'ListTables', 'namespace', 'a/evt_1', 'nobody'],
  ['a user is no group of this name', namesOfUsers, 'QueryTable', 'table', 'a/t', 'nobody'],
  ['not only alike', cafe, 'ListTables', 'namespace', 'cafe\u0301', 'nobody'],
  ['also by case', cafe, 'ListTables', 'namespace', 'Caf\u00e9', 'nobody'],
  ['or a member of every object', cafe, 'ListTables', 'namespace', '__proto__', 'nobody'],
])('%s', (_what, policies, permission, kind, path, decided) => {
  expect(decider(policies, [permission, kind, path])).toBe(decided)
})

function beneath(...rules: WrittenRule[]): WrittenPolicy {
  return { name: 'low', namespace: ['a', 'b', 'c'], rules }
}

it('on everything beneath: a deny or a boundary beneath denies, whether or not it matches an object', () => {
  const top = { name: 'top', namespace: ['a'], rules: [rule('all', 'allow')] }
  const decide = (...policies: WrittenPolicy[]) =>
    compilePolicySet([top, ...policies]).decideBeneath(
      createAuthorizationRequest(alice, 'DropTable', 'namespace', ['a']),
    )

  expect(decide()).toMatchObject({ allowed: true, rule: { rule: 'all' } })
  const deny = rule('no', 'deny', { tables: ['x'] })
  expect(decide(beneath(deny))).toMatchObject({ reason: 'denied', rule: { policy: 'low', rule: 'no' } })
  expect(decide({ name: 'same', namespace: ['a'], rules: [deny] })).toMatchObject({ reason: 'denied' })
  expect(decide({ name: 'beside', namespace: ['b'], rules: [deny] })).toMatchObject({ allowed: true })
  expect(decide(beneath({ ...deny, operations: ['UpdateTable'] }))).toMatchObject({ allowed: true })
  expect(decide(beneath({ ...deny, subjects: { users: ['bob'] } }))).toMatchObject({ allowed: true })
  expect(decide({ ...beneath(), inherit: false })).toMatchObject({ allowed: false, reason: 'no_rule' })
  expect(decide({ ...beneath(rule('own', 'allow')), inherit: false })).toMatchObject({ allowed: true })
  const ownTables = rule('own', 'allow', { tables: ['*'] })
  expect(decide({ ...beneath(ownTables), inherit: false })).toMatchObject({ allowed: false })
})

it.each<[one: 403 | 404, other: 403 | 404 | undefined, conceals: boolean]>([
  [404, 403, true],
  [403, 404, true],
  [404, undefined, true],
  [403, undefined, false],
])(
  'uses the onDeny that conceals more if two policies of a namespace have %s and %s',
  (one, other, conceals) => {
    const set = compilePolicySet([
      { name: 'one', namespace: ['a'], onDeny: one, rules: [] },
      { name: 'other', namespace: ['a'], ...(other === undefined ? {} : { onDeny: other }), rules: [] },
    ])
    expect(isConcealed(set, createAuthorizationRequest(alice, 'DropTable', 'table', ['a', 't']))).toBe(
      conceals,
    )
  },
)
