import { expect, it } from 'vitest'
import { isConcealed } from '../../../src/policy/visibility/concealment.ts'
import { createAuthorizationRequest, createCaller, compilePolicySet } from '../policy-builder.ts'

const alice = createCaller('alice', 'sales')

// All else about decisions: decisions-match-oracle.test.ts.
it.each([
  ['in another form of Unicode', 'cafe\u0301'],
  ['in another case', 'Caf\u00e9'],
  ['that is a member of every object', '__proto__'],
])('a name %s is another namespace', (_what, name) => {
  const rule = { id: 'r', effect: 'allow', subjects: { groups: ['sales'] }, operations: ['all'] } as const
  const set = compilePolicySet([{ name: 'p', namespace: ['caf\u00e9'], rules: [rule] }])
  const request = createAuthorizationRequest(alice, 'ListTables', 'namespace', [name])
  expect(set.decide(request)).toMatchObject({ allowed: false, reason: 'no_rule' })
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
