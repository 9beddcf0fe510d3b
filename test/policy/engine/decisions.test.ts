import { expect, it } from 'vitest'
import type { Decision } from '../../../src/policy/engine/decision.ts'
import { pending } from '../../../src/policy/conditions/fact.ts'
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

function beneath(...rules: WrittenRule[]): WrittenPolicy {
  return { name: 'low', namespace: ['a', 'b', 'c'], rules }
}

it('an allow covers its namespace and everything beneath, and nothing beside or above', () => {
  const set = compilePolicySet([{ name: 'p', namespace: ['prod', 'sales'], rules: [rule('r', 'allow')] }])
  const isAllowed = (id: readonly string[], kind: 'namespace' | 'table'): boolean =>
    set.decide(createAuthorizationRequest(alice, 'DropTable', kind, id)).allowed
  expect(isAllowed(['prod', 'sales'], 'namespace')).toBe(true)
  expect(isAllowed(['prod', 'sales', 'eu', 'x'], 'namespace')).toBe(true)
  expect(isAllowed(['prod', 'sales', 'eu', 'orders'], 'table')).toBe(true)
  expect(isAllowed(['prod'], 'namespace')).toBe(false)
  expect(isAllowed(['prod', 'sales2'], 'namespace')).toBe(false)
  expect(isAllowed(['prod', 'orders'], 'table')).toBe(false)
})

it('a table is not the namespace of the same path', () => {
  const set = compilePolicySet([{ name: 'p', namespace: ['prod', 'sales'], rules: [rule('r', 'allow')] }])
  expect(set.decide(createAuthorizationRequest(alice, 'DropTable', 'table', ['prod', 'sales'])).allowed).toBe(
    false,
  )
})

it('a deny above overrides an allow beneath, even with inherit: false', () => {
  const set = compilePolicySet([
    { name: 'top', namespace: [], rules: [rule('no', 'deny', { operations: ['drop'] })] },
    { name: 'low', namespace: ['a', 'b'], inherit: false, rules: [rule('yes', 'allow')] },
  ])
  expect(set.decide(createAuthorizationRequest(alice, 'DropTable', 'table', ['a', 'b', 't']))).toMatchObject({
    allowed: false,
    reason: 'denied',
    rule: { policy: 'top', rule: 'no' },
  })
  expect(set.decide(createAuthorizationRequest(alice, 'QueryTable', 'table', ['a', 'b', 't'])).allowed).toBe(
    true,
  )
})

it('inherit: false in one policy of a namespace blocks allows from above, not those of its other policies', () => {
  const set = compilePolicySet([
    { name: 'top', namespace: [], rules: [rule('top', 'allow')] },
    { name: 'beside', namespace: ['hr'], rules: [rule('beside', 'allow', { operations: ['query'] })] },
    { name: 'stop', namespace: ['hr'], inherit: false, rules: [] },
  ])
  expect(set.decide(createAuthorizationRequest(alice, 'DropTable', 'table', ['hr', 't']))).toMatchObject({
    allowed: false,
    reason: 'no_rule',
  })
  expect(
    set.decide(createAuthorizationRequest(alice, 'QueryTable', 'table', ['hr', 'deep', 't'])).allowed,
  ).toBe(true)
})

it('a rule with tables covers only matching tables directly in its namespace', () => {
  const set = compilePolicySet([
    { name: 'p', namespace: ['a'], rules: [rule('r', 'allow', { tables: ['evt_*'] })] },
  ])
  expect(set.decide(createAuthorizationRequest(alice, 'QueryTable', 'table', ['a', 'evt_1'])).allowed).toBe(
    true,
  )
  expect(
    set.decide(createAuthorizationRequest(alice, 'QueryTable', 'materialized_view', ['a', 'evt_1'])).allowed,
  ).toBe(true)
  expect(
    set.decide(createAuthorizationRequest(alice, 'DescribeTransaction', 'transaction', ['a', 'evt_1', '7']))
      .allowed,
  ).toBe(true)
  expect(set.decide(createAuthorizationRequest(alice, 'QueryTable', 'table', ['a', 'orders'])).allowed).toBe(
    false,
  )
  expect(
    set.decide(createAuthorizationRequest(alice, 'QueryTable', 'table', ['a', 'deep', 'evt_1'])).allowed,
  ).toBe(false)
  expect(set.decide(createAuthorizationRequest(alice, 'ListTables', 'namespace', ['a'])).allowed).toBe(false)
  expect(
    set.decide(createAuthorizationRequest(alice, 'ListTables', 'namespace', ['a', 'evt_1'])).allowed,
  ).toBe(false)
})

it('distinguishes users from groups of the same name; any covers all authenticated callers', () => {
  const set = compilePolicySet([
    { name: 'p', namespace: ['a'], rules: [rule('r', 'allow', { subjects: { users: ['sales'] } })] },
    { name: 'q', namespace: ['b'], rules: [rule('r', 'allow', { subjects: { any: true } })] },
  ])
  expect(set.decide(createAuthorizationRequest(alice, 'QueryTable', 'table', ['a', 't'])).allowed).toBe(false)
  expect(
    set.decide(createAuthorizationRequest(createCaller('sales'), 'QueryTable', 'table', ['a', 't'])).allowed,
  ).toBe(true)
  expect(
    set.decide(createAuthorizationRequest(createCaller('eve'), 'QueryTable', 'table', ['b', 't'])).allowed,
  ).toBe(true)
})

it('does not match names that only look alike, or names of object members', () => {
  const set = compilePolicySet([{ name: 'p', namespace: ['caf\u00e9'], rules: [rule('r', 'allow')] }])
  expect(
    set.decide(createAuthorizationRequest(alice, 'ListTables', 'namespace', ['caf\u00e9'])).allowed,
  ).toBe(true)
  for (const name of ['cafe\u0301', 'Caf\u00e9', '__proto__', 'constructor']) {
    expect(set.decide(createAuthorizationRequest(alice, 'ListTables', 'namespace', [name])).allowed).toBe(
      false,
    )
  }
})

it('names the first rule of the deepest namespace', () => {
  const set = compilePolicySet([
    { name: 'deep', namespace: ['a'], rules: [rule('first', 'allow'), rule('second', 'allow')] },
    {
      name: 'deep-too',
      namespace: ['a'],
      rules: [rule('third', 'allow', { subjects: { users: ['alice'] } })],
    },
    { name: 'top', namespace: [], rules: [rule('fourth', 'allow', { subjects: { any: true } })] },
  ])
  expect(set.decide(createAuthorizationRequest(alice, 'QueryTable', 'table', ['a', 't']))).toEqual({
    allowed: true,
    rule: { policy: 'deep', rule: 'first', file: 'policies.yaml', line: 1 },
    revision: set.revision,
  })
})

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

it('on everything beneath: names the first denying rule of the deepest namespace', () => {
  const high = denying('high', ['a', 'x'], 'high')
  const first = denying('first', ['a', 'x', 'y'], 'first', 'second')
  const other = denying('other', ['a', 'z', 'y'], 'other')
  expect(ruleThatDenies(high, first, other)).toBe('first')
  expect(ruleThatDenies(other, first, high)).toBe('other')
  expect(ruleThatDenies(first, high)).toBe('first')
  expect(ruleThatDenies(high)).toBe('high')
})

function denying(name: string, namespace: readonly string[], ...ids: readonly string[]): WrittenPolicy {
  return { name, namespace, rules: ids.map((id) => rule(id, 'deny')) }
}

function ruleThatDenies(...policies: readonly WrittenPolicy[]): unknown {
  const top = { name: 'top', namespace: ['a'], rules: [rule('all', 'allow')] }
  const decision = compilePolicySet([...policies, top]).decideBeneath(
    createAuthorizationRequest(alice, 'DropTable', 'namespace', ['a']),
  )
  return decision.allowed ? undefined : decision.rule?.rule
}

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

const early = createAuthorizationRequest(alice, 'UpdateTable', 'table', ['t'], {
  operation: { branch: pending },
})
const onMain = rule('on-main', 'allow', { when: 'branch == "main"' })
const notOnMain = rule('not-on-main', 'deny', { when: 'branch == "main"' })

it('decides against the caller as long as a fact is pending', () => {
  expect(compilePolicySet([{ name: 'p', namespace: [], rules: [onMain] }]).decide(early).allowed).toBe(false)
  const denying = compilePolicySet([{ name: 'p', namespace: [], rules: [rule('all', 'allow'), notOnMain] }])
  expect(denying.decide(early)).toMatchObject({ allowed: false, rule: { rule: 'not-on-main' } })
})

it('decides partially if and only if no value of a pending fact can change the decision', () => {
  expect(decidePartially(onMain, rule('all', 'allow'))).toMatchObject({
    allowed: true,
    rule: { rule: 'all' },
  })
  expect(decidePartially(onMain, rule('none', 'deny'))).toMatchObject({
    allowed: false,
    rule: { rule: 'none' },
  })
  expect(decidePartially()).toMatchObject({ allowed: false, reason: 'no_rule' })
  expect(decidePartially(onMain)).toBeUndefined()
  expect(decidePartially(rule('all', 'allow'), notOnMain)).toBeUndefined()
})

function decidePartially(...rules: readonly WrittenRule[]): Decision | undefined {
  return compilePolicySet([{ name: 'p', namespace: [], rules }]).decidePartially(early)
}
