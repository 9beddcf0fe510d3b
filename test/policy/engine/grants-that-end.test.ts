import { expect, it } from 'vitest'
import {
  compilePolicySet,
  createAuthorizationRequest,
  createCaller,
  type RequestOverrides,
  type WrittenRule,
} from '../policy-builder.ts'
import { isConcealed } from '../../../src/policy/visibility/concealment.ts'

const until = '2026-06-15T14:00:00+02:00'
const end = Date.parse(until)
const grant: WrittenRule = {
  id: 'grant',
  effect: 'allow',
  subjects: { users: ['al'] },
  operations: ['read', 'write'],
  until,
}
const setOf = (rest: Partial<WrittenRule> = {}) =>
  compilePolicySet([{ name: 'p', namespace: ['a'], rules: [{ ...grant, ...rest }] }])
const requestAt = (time: number, { request, operation }: RequestOverrides = {}) =>
  createAuthorizationRequest(createCaller('al'), 'InsertIntoTable', 'table', ['a', 't'], {
    request: { ...request, now: new Date(time) },
    ...(operation && { operation }),
  })

it.each<[string, Partial<WrittenRule>]>([
  ['with a choice, which is not weakened', { when: 'branch == "main" || true' }],
  ['with a condition that ends with a comment', { when: 'branch == "main" // no other' }],
])('a grant applies before its end, and not from then on: %s', (_what, rest) => {
  const set = setOf(rest)
  const main = { operation: { branch: 'main' } }
  expect(set.decide(requestAt(end - 1, main)).allowed).toBe(true)
  expect(set.decide(requestAt(end, main)).allowed).toBe(false)
  expect(set.decidePartially(requestAt(end, main))?.allowed).toBe(false)
  expect(set.decide(requestAt(end - 1, main)).allowed).toBe(true)
})

it('the reference to the rule has the end in UTC', () => {
  expect(setOf().decide(requestAt(end - 1))).toMatchObject({
    allowed: true,
    rule: { policy: 'p', rule: 'grant', until: '2026-06-15T12:00:00Z' },
  })
})

it('listings and concealment forget the grant at its end, although they cache what is visible', () => {
  const set = setOf()
  const principal = createCaller('al')
  const isShown = (time: number): boolean =>
    set.visibilityFor({ principal, request: requestAt(time).request })('table', ['a', 't'])
  expect([end - 1, end, end - 1, end].map(isShown)).toEqual([true, false, true, false])
  expect([end - 1, end].map((time) => isConcealed(set, requestAt(time)))).toEqual([false, true])
})
