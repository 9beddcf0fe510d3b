import { expect, it } from 'vitest'
import { unknown } from '../../../src/policy/conditions/fact.ts'
import { isConcealed } from '../../../src/policy/visibility/concealment.ts'
import {
  compilePolicySet,
  createAuthorizationRequest,
  createCaller,
  type WrittenRule,
} from '../policy-builder.ts'

// A transaction shows that its table exists, so it is concealed with its table.
const subjects = { users: ['al'] }
const all: WrittenRule = { id: 'all', effect: 'allow', subjects, operations: ['all'] }
const deny = (operations: readonly string[], rest: Partial<WrittenRule> = {}): WrittenRule => ({
  id: 'no',
  effect: 'deny',
  subjects,
  operations,
  tables: ['secret'],
  ...rest,
})

it.each<[string, readonly WrittenRule[], conceals: boolean]>([
  ['nothing is denied', [all], false],
  ['the table is denied', [all, deny(['all'])], true],
  ['only describing the table is denied', [all, deny(['ListTables', 'DescribeTable', 'TableExists'])], true],
  ['only describing transactions is denied', [all, deny(['DescribeTransaction'])], true],
  ['only altering transactions is denied', [all, deny(['AlterTransaction'])], false],
  [
    'describing is denied on one branch, which may be that of the transaction',
    [all, deny(['DescribeTransaction'], { when: 'branch == "main"' })],
    true,
  ],
  ['another table is denied', [all, deny(['all'], { tables: ['1'] })], false],
])('a transaction is concealed as its table is: %s', (_what, rules, conceals) => {
  const set = compilePolicySet([{ name: 'p', namespace: ['a'], rules }])
  const request = createAuthorizationRequest(
    createCaller('al'),
    'AlterTransaction',
    'transaction',
    ['a', 'secret', '1'],
    { operation: { branch: unknown } },
  )
  expect(isConcealed(set, request)).toBe(conceals)
})

it('the response to a denial is that of the namespace of the table', () => {
  const set = compilePolicySet([
    { name: 'p', namespace: ['a'], onDeny: 403, rules: [all] },
    // A policy of a namespace that is named as the table.
    { name: 'q', namespace: ['a', 'secret'], onDeny: 404, rules: [] },
  ])
  const request = createAuthorizationRequest(createCaller('eve'), 'DescribeTransaction', 'transaction', [
    'a',
    'secret',
    '1',
  ])
  expect(isConcealed(set, request)).toBe(false)
})
