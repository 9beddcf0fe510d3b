import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { Principal } from '../../../src/identity/principal.ts'
import { listSteps } from '../../../src/policy/analysis/steps.ts'
import { getEvaluator } from '../../../src/policy/conditions/condition.ts'
import { createNameMatcher } from '../../../src/policy/conditions/name-pattern.ts'
import type { NamedSubjects, Subjects } from '../../../src/policy/language/policy-document.ts'
import type { AuthorizationRequest } from '../../../src/policy/conditions/authorization-request.ts'
import type { RuleReference } from '../../../src/policy/engine/decision.ts'
import { objectPosition } from '../../../src/policy/engine/object-position.ts'
import type { PolicySet } from '../../../src/policy/policy-set.ts'
import { knownFromPrincipal, type Subject } from '../../../src/policy/engine/subject.ts'
import type { Step } from '../../../src/policy/engine/evaluate.ts'
import { whatCan, whoCan, type Grant } from '../../../src/policy/analysis/grants.ts'
import { arbitraryPolicies, arbitraryRequest, taggedPolicies } from '../policy-arbitraries.ts'
import { compilePolicySet, formatPolicies } from '../policy-builder.ts'
import { isThorough } from '../../support/thorough.ts'

const depthOf = ({ document }: Step) => document.namespace.length

const requests = fc.array(arbitraryRequest, { minLength: 10, maxLength: 10 })

it('explain: the decision names the most specific applying deny, otherwise the most specific applying allow', () => {
  fc.assert(
    fc.property(fc.oneof(arbitraryPolicies, taggedPolicies), requests, (policies, requests) => {
      const set = compilePolicySet(policies)
      for (const request of requests) {
        const { permission, kind, id, principal } = request
        const caller = knownFromPrincipal(principal)
        const partial = { permission, position: objectPosition(kind, id), caller, input: request }
        const { possible } = listSteps(set, partial)
        const deepestFirst = possible.toSorted((one, other) => depthOf(other) - depthOf(one))
        const first = (wanted: Step['rule']['effect']) =>
          deepestFirst.find((step) => step.rule.effect === wanted)
        const deciding = first('deny') ?? first('allow')
        const { policy, rule } = set.decide(request).rule ?? {}
        expect([policy, rule], formatPolicies(policies)).toEqual([deciding?.document.name, deciding?.rule.id])
      }
    }),
    { numRuns: isThorough ? 120 : 13 },
  )
})

it('who-can: a caller is allowed if and only if an entitlement applies', () => {
  let allowed = 0
  fc.assert(
    fc.property(fc.oneof(arbitraryPolicies, taggedPolicies), requests, (policies, requests) => {
      const set = compilePolicySet(policies)
      for (const request of requests) {
        const { permission, kind, id, principal } = request
        const isEntitled = whoCan(set, permission, objectPosition(kind, id)).allowed.some(
          ({ subject, rule, except, unless }) =>
            isSubject(principal, subject) &&
            holds(rule, request, set) &&
            !(except !== undefined && isNamed(principal, except)) &&
            !unless.some(
              ({ rule, subjects }) =>
                (subjects === undefined || isMatched(principal, subjects)) && holds(rule, request, set),
            ),
        )
        if (isEntitled) allowed++
        expect(isEntitled, formatPolicies(policies)).toBe(set.decide(request).allowed)
      }
    }),
    { numRuns: isThorough ? 120 : 13 },
  )
  expect(allowed).toBeGreaterThan(3)
})

it('what-can: a caller is allowed exactly what the nearest entry permits', () => {
  let allowed = 0
  fc.assert(
    fc.property(
      fc.oneof(arbitraryPolicies, taggedPolicies),
      fc.array(arbitraryRequest, { maxLength: 3 }),
      (policies, requests) => {
        const set = compilePolicySet(policies)
        for (const request of requests) {
          const { permission, kind, id, principal } = request
          const { namespace, table } = objectPosition(kind, id)
          const nearest = whatCan(set, principal)
            .filter((entry) => entry.namespace.every((part, index) => part === namespace[index]))
            .toSorted((one, other) => other.namespace.length - one.namespace.length)[0]
          const isHere = ({ tables, rule }: Omit<Grant, 'unless'>): boolean =>
            tables === undefined ||
            (table !== undefined &&
              findRule(set, rule).document.namespace.length === namespace.length &&
              tables.some((pattern) => createNameMatcher(pattern)(table)))
          const isApplying = (permit: Omit<Grant, 'unless'>): boolean =>
            permit.operations?.includes(permission) === true &&
            isHere(permit) &&
            holds(permit.rule, request, set)
          const isPermitted = (nearest?.permits ?? []).some(
            (permit) => isApplying(permit) && !permit.unless.some(isApplying),
          )
          if (isPermitted) allowed++
          expect(isPermitted, formatPolicies(policies)).toBe(set.decide(request).allowed)
        }
      },
    ),
    { numRuns: isThorough ? 120 : 13 },
  )
  expect(allowed).toBeGreaterThan(0)
})

function findRule(set: PolicySet, { policy, rule: id }: RuleReference) {
  const found = set.documents.flatMap((document) => document.rules.map((rule) => ({ document, rule })))
  const [own] = found.filter(({ document, rule }) => document.name === policy && rule.id === id)
  if (own === undefined) throw new Error(`no rule ${policy}/${id}`)
  return own
}

function holds(reference: RuleReference, request: AuthorizationRequest, set: PolicySet): boolean {
  const { rule } = findRule(set, reference)
  try {
    const tags = set.findTags(objectPosition(request.kind, request.id))
    return rule.condition === undefined || getEvaluator(rule.condition)({ ...request, tags })
  } catch {
    return rule.effect === 'deny'
  }
}

function isMatched(principal: Principal, subjects: Subjects): boolean {
  if (principal.method === 'anonymous') return subjects.anonymous
  const isExcepted = subjects.except !== undefined && isNamed(principal, subjects.except)
  return (subjects.any || isNamed(principal, subjects)) && !isExcepted
}

function isNamed({ name, method, groups, credentialId }: Principal, names: NamedSubjects): boolean {
  if (method === 'anonymous') return false
  return (
    names.users.includes(name) ||
    names.keys.includes(credentialId) ||
    names.groups.some((group) => groups.has(group))
  )
}

function isSubject(principal: Principal, { kind, name }: Subject): boolean {
  if (kind === 'any' || kind === 'anonymous')
    return (principal.method === 'anonymous') === (kind === 'anonymous')
  return isNamed(principal, {
    users: kind === 'user' ? [name] : [],
    groups: kind === 'group' ? [name] : [],
    keys: kind === 'key' ? [name] : [],
  })
}
