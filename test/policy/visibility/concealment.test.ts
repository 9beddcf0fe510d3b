import { expect, it } from 'vitest'
import { unknown } from '../../../src/policy/conditions/authorization-request.ts'
import { anonymousPrincipal } from '../../../src/identity/principal.ts'
import type { Permission } from '../../../src/catalog-api/permissions.ts'
import type { ObjectKind } from '../../../src/catalog-api/operations.ts'
import {
  compilePolicySet,
  createAuthorizationRequest,
  createCaller,
  type WrittenPolicy,
  type WrittenRule,
} from '../policy-builder.ts'
import { findContact, describeDenial, isConcealed } from '../../../src/policy/visibility/concealment.ts'

const reads = (name: string): WrittenRule => ({
  id: 'read',
  effect: 'allow',
  subjects: { users: [name] },
  operations: ['read'],
})
const denies = (rest: Partial<WrittenRule>): WrittenRule => ({
  id: 'no',
  effect: 'deny',
  subjects: { any: true },
  operations: ['write'],
  ...rest,
})

const policies: readonly WrittenPolicy[] = [
  { name: 'root', namespace: [], contact: 'platform', rules: [] },
  { name: 'prod', namespace: ['prod'], rules: [reads('ann')] },
  { name: 'sales', namespace: ['prod', 'sales'], contact: 'sales', rules: [] },
  { name: 'late', namespace: ['prod', 'sales'], contact: 'late', rules: [] },
  {
    name: 'freeze',
    namespace: ['prod', 'frozen'],
    contact: 'release',
    rules: [denies({ operations: ['write', 'drop'] })],
  },
  { name: 'frozen', namespace: ['prod', 'frozen'], rules: [] },
  { name: 'no-contact', namespace: ['prod', 'sales', 'eu'], rules: [denies({})] },
  {
    name: 'hr',
    namespace: ['prod', 'hr'],
    inherit: false,
    contact: 'hr',
    rules: [reads('hugo'), denies({ operations: ['drop'] })],
  },
  {
    name: 'vault',
    namespace: ['prod', 'sales'],
    contact: 'vault',
    rules: [
      denies({
        operations: ['all'],
        tables: ['vault'],
        subjects: { any: true, except: { users: ['hugo'] } },
      }),
    ],
  },
]
const set = compilePolicySet(policies)

it.each<[string, Permission, ObjectKind, string, string | undefined]>([
  [
    'no rule allows it: the deepest namespace with a contact',
    'DropTable',
    'table',
    'prod/sales/orders',
    'sales',
  ],
  ['the namespace itself has none', 'DropTable', 'table', 'prod/new/orders', 'platform'],
  ['a rule denies it: that of its policy', 'InsertIntoTable', 'table', 'prod/frozen/orders', 'release'],
  ['the policy of the rule has none', 'InsertIntoTable', 'table', 'prod/sales/eu/orders', 'sales'],
  ['the root', 'CreateNamespace', 'namespace', '', 'platform'],
  ['a namespace that is hidden', 'DropTable', 'table', 'prod/hr/salaries', 'platform'],
  ['a deny in a namespace beneath that is hidden', 'DropNamespace', 'namespace', 'prod', 'platform'],
  ['a table that is hidden by a deny', 'DropTable', 'table', 'prod/sales/vault', 'sales'],
])('whom ann may ask: %s', (_what, permission, kind, path, contact) => {
  const id = path === '' ? [] : path.split('/')
  const request = createAuthorizationRequest(createCaller('ann'), permission, kind, id)
  const decision = kind === 'namespace' ? set.decideBeneath(request) : set.decide(request)
  expect(decision.allowed).toBe(false)
  expect(findContact(set, request, decision)).toBe(contact)
})

it('callers that may see the namespace get its contact', () => {
  const request = createAuthorizationRequest(createCaller('hugo'), 'DropTable', 'table', [
    'prod',
    'hr',
    'salaries',
  ])
  expect(findContact(set, request, set.decide(request))).toBe('hr')
})

it.each<[onDeny: 403 | 404 | undefined, caller: string, status: number]>([
  [undefined, 'ann', 403],
  [undefined, 'eve', 404],
  [403, 'eve', 403],
  [404, 'ann', 404],
  [undefined, 'anonymous', 401],
  [404, 'anonymous', 404],
])('with onDeny: %s, a denial of %s has the status %i', (onDeny, caller, status) => {
  const set = compilePolicySet([
    { name: 'p', namespace: ['p'], ...(onDeny && { onDeny }), rules: [reads('ann')] },
  ])
  const principal = caller === 'anonymous' ? anonymousPrincipal : createCaller(caller)
  const request = createAuthorizationRequest(principal, 'DropTable', 'table', ['p', 't'])
  expect(describeDenial(set, request, set.decide(request)).status).toBe(status)
})

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
