import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { Principal } from '../../../src/identity/principal.ts'
import {
  type AuthorizationRequest,
  type OperationFacts,
  pending,
} from '../../../src/policy/conditions/authorization-request.ts'
import { decideListing, type Viewer } from '../../../src/policy/visibility/visibility.ts'
import { isThorough } from '../../support/thorough.ts'
import { compilePolicies } from '../../../src/policy/policy-set.ts'
import {
  arbitraryPolicies as anyPolicies,
  arbitraryRequest as anyRequest,
  taggedPolicies,
} from '../policy-arbitraries.ts'
import { oracleDecide } from '../decision-oracle.ts'
import {
  createCaller,
  createAuthorizationRequest,
  compilePolicySet,
  type WrittenPolicy,
  parseDocuments,
} from '../policy-builder.ts'

/** Replaces some generated permissions by those that decide visibility. */
const describePermissions: Readonly<Record<string, string>> = {
  DropTable: 'DescribeTable',
  ListTables: 'DescribeNamespace',
  QueryTable: 'DescribeTable',
}
const describing = (policies: typeof anyPolicies): typeof anyPolicies =>
  policies.map((written) =>
    written.map((policy) => ({
      ...policy,
      rules: policy.rules.map((rule) => ({
        ...rule,
        operations: [...new Set(rule.operations.map((name) => describePermissions[name] ?? name))],
      })),
    })),
  )
const requests = fc.array(
  anyRequest.filter(({ kind }) => kind === 'namespace' || kind === 'table'),
  { minLength: 4, maxLength: 4 },
)

it.each([
  ['of any kind', describing(anyPolicies)],
  ['whose conditions ask for tags', describing(taggedPolicies)],
])(
  'shows what may be described and the namespaces above, like an exhaustive search: policies %s',
  (_what, policies) => {
    let shown = 0
    let shownAsParent = 0
    fc.assert(
      fc.property(policies, requests, (policies, requests) => {
        const set = compilePolicySet(policies)
        // The same caller with another request, and another caller, to find results cached for the wrong one.
        for (const { principal, request } of viewersOf(requests)) {
          const view = set.visibilityFor({ principal, request })
          for (const { id, kind: anyKind } of [...requests, ...requests]) {
            const kind = anyKind === 'namespace' ? 'namespace' : 'table'
            const describeRequest = createAuthorizationRequest(principal, 'DescribeTable', kind, id, {
              request,
            })
            const shows = view(kind, id)
            const describes = mayDescribe(policies, describeRequest, kind, id)
            const expected =
              describes || (kind === 'namespace' && oracleShowsBeneath(policies, describeRequest))
            expect(shows, JSON.stringify({ principal: principal.name, kind, id })).toBe(expected)
            if (shows) shown += 1
            if (shows && !describes) shownAsParent += 1
          }
        }
      }),
      { numRuns: isThorough ? 1000 : 30 },
    )
    expect(shown).toBeGreaterThan(50)
    expect(shownAsParent).toBeGreaterThan(5)
  },
)

function viewersOf([first, second]: readonly AuthorizationRequest[]): readonly Viewer[] {
  if (first === undefined || second === undefined) return []
  const { principal } = first
  return [first, { principal, request: second.request }, { ...second, principal: inOtherOrder(principal) }]
}

/** The same caller with its groups in another order, in another request. */
function inOtherOrder(principal: Principal): Principal {
  return { ...principal, groups: new Set([...principal.groups].toReversed()) }
}

function mayDescribe(
  policies: readonly WrittenPolicy[],
  { principal, request }: AuthorizationRequest,
  kind: 'namespace' | 'table',
  id: readonly string[],
  isIdKnown = true,
): boolean {
  const permission = kind === 'namespace' ? 'DescribeNamespace' : 'DescribeTable'
  // A table is shown to callers who may describe one of its branches.
  const operation: Partial<OperationFacts> = { branch: kind === 'table' ? pending : '' }
  const describeRequest = createAuthorizationRequest(principal, permission, kind, id, { request, operation })
  return oracleDecide(policies, { ...describeRequest, isIdKnown }, 'optimistic').allowed
}

/**
 * Decides for every namespace beneath with policies and one without, and for every kind of table. Their ids are
 * unknown, because any object may exist.
 */
function oracleShowsBeneath(policies: readonly WrittenPolicy[], request: AuthorizationRequest): boolean {
  const { id } = request
  const patterns = policies.flatMap(({ rules }) => rules.flatMap(({ tables }) => tables ?? []))
  const declared = policies.flatMap(({ tags }) => Object.keys(tags?.tables ?? {}))
  const names = [...patterns.map((pattern) => pattern.replaceAll('*', 'z')), ...declared, 'fresh']
  const spoken = policies
    .map(({ namespace }) => namespace)
    .filter((path) => id.every((part, index) => path[index] === part))
    .flatMap((path) => path.slice(id.length).map((_, index) => path.slice(0, id.length + index + 1)))
  const isShown = (kind: 'namespace' | 'table', path: readonly string[]): boolean =>
    mayDescribe(policies, request, kind, path, false)
  return [id, ...spoken].some(
    (path) =>
      (path !== id && isShown('namespace', path)) ||
      isShown('namespace', [...path, 'fresh']) ||
      isShown('table', [...path, 'fresh', 'fresh']) ||
      names.some((name) => isShown('table', [...path, name])),
  )
}

const ann = createCaller('ann')
const { request } = createAuthorizationRequest(ann, 'DescribeTable', 'table', ['t'])

it.each<[what: string, tables: readonly string[], denied: readonly string[], shown: boolean]>([
  ['the same pattern is denied', ['a*'], ['a*'], false],
  ['a wider pattern is denied', ['a*b', 'abc'], ['a*'], false],
  ['two patterns are denied that together hold all of it', ['a*', 'b'], ['b', 'a*'], false],
  ['a narrower pattern is denied', ['a*'], ['ab*'], true],
  ['the first of two patterns is denied', ['b', 'a*'], ['b'], true],
  ['many narrower patterns are denied', ['a*'], ['a', 'ab*', 'ac*', '*a'], true],
])('shows a namespace of tables that may be described, unless %s', (_what, tables, denied, shown) => {
  const subjects = { users: ['ann'] }
  const set = compilePolicySet([
    {
      name: 'p',
      namespace: ['x', 'y'],
      rules: [
        { id: 'some', effect: 'allow', subjects, operations: ['DescribeTable'], tables },
        { id: 'none', effect: 'deny', subjects, operations: ['DescribeTable'], tables: denied },
      ],
    },
  ])
  for (const id of [['x'], ['x', 'y']]) {
    expect(set.visibilityFor({ principal: ann, request })('namespace', id)).toBe(shown)
  }
  const view = set.visibilityFor({ principal: ann, request })
  expect(['ad', 'z'].map((table) => view('table', ['x', 'y', table]))).toEqual([shown, false])
  expect(set.visibilityFor({ principal: createCaller('bob'), request })('namespace', ['x'])).toBe(false)
  expect(set.visibilityFor({ principal: ann, request })('namespace', ['x', 'y', 'z'])).toBe(false)
})

it('evaluates the condition of each namespace, and reports each failure in each page', () => {
  const subjects = { users: ['ann'] }
  const failed: string[] = []
  const documents = parseDocuments(
    Array.from({ length: 100 }, (_, index) => ({
      name: `p${index}`,
      namespace: [`n${index}`],
      rules: [
        { id: 'some', effect: 'allow', subjects, operations: ['read'], when: `context["n"] == "${index}"` },
      ],
    })),
  )
  const set = compilePolicies(documents, ({ policy }) => failed.push(policy))
  const names = documents.map(({ name }) => name.replace('p', 'n'))
  const seenWith = (context: ReadonlyMap<string, string>): readonly string[] => {
    const view = set.visibilityFor({ principal: ann, request: { ...request, context } })
    return names.filter((name) => view('namespace', [name]))
  }
  for (const index of [3, 99, 3, 50]) expect(seenWith(new Map([['n', String(index)]]))).toEqual([`n${index}`])
  expect(failed).toEqual([])
  for (let page = 1; page <= 2; page++) {
    expect(seenWith(new Map())).toEqual([])
    expect(new Set(failed.splice(0)).size).toBe(documents.length)
  }
})

it('decides once about all objects of a kind in a namespace, unless a rule reads their names', () => {
  const subjects = { users: ['ann'] }
  const rule = {
    id: 'r',
    effect: 'allow',
    subjects,
    operations: ['read'],
    when: 'context["n"] == ""',
  } as const
  const failed: string[] = []
  const documents = parseDocuments([
    { name: 'all', namespace: ['all'], rules: [rule] },
    { name: 'some', namespace: ['some'], rules: [{ ...rule, tables: ['*'] }] },
    { name: 'one', namespace: ['one'], rules: [{ ...rule, when: 'id[1] == "b"' }] },
  ])
  const set = compilePolicies(documents, ({ policy }) => failed.push(policy))
  const view = set.visibilityFor({ principal: ann, request })
  const failuresOf = (kind: 'namespace' | 'table', ids: readonly (readonly string[])[]): number => {
    for (const id of ids) expect(view(kind, id)).toBe(false)
    return failed.splice(0).length
  }
  const names = ['a', 'b', 'c']
  const within = (namespace: string) => names.map((name) => [namespace, name])
  expect(failuresOf('table', within('all'))).toBe(1)
  expect(failuresOf('table', within('some'))).toBe(3)
  expect(within('one').map((id) => view('table', id))).toEqual([false, true, false])
  // Something in it, and tables beneath; both without an object that exists.
  expect(failuresOf('namespace', [['all'], ['all']])).toBe(2)
  expect(failuresOf('namespace', within('all'))).toBe(2)
})

function decideListTables(caller: string, ...policies: readonly WrittenPolicy[]) {
  const request = createAuthorizationRequest(createCaller(caller), 'ListTables', 'namespace', ['a'])
  return decideListing(compilePolicySet(policies), request).decision
}

it('a listing that no rule allows or denies is decided by what may be visible beneath', () => {
  const beneath: WrittenPolicy = {
    name: 'beneath',
    namespace: ['a', 'b'],
    rules: [{ id: 'see', effect: 'allow', subjects: { users: ['ann'] }, operations: ['DescribeTable'] }],
  }
  const denying: WrittenPolicy = {
    name: 'denying',
    namespace: ['a'],
    rules: [{ id: 'stop', effect: 'deny', subjects: { users: ['ann'] }, operations: ['ListTables'] }],
  }
  expect(decideListTables('ann', beneath)).toMatchObject({ allowed: true, rule: { rule: 'see' } })
  expect(decideListTables('bob', beneath)).toMatchObject({ allowed: false, reason: 'no_rule' })
  expect(decideListTables('ann', beneath, denying)).toMatchObject({ allowed: false, rule: { rule: 'stop' } })
})
