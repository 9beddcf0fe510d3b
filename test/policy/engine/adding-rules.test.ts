import fc from 'fast-check'
import { expect, it } from 'vitest'
import {
  arbitraryPolicies,
  arbitraryRequest,
  arbitraryRequestBeneath,
  arbitraryRule,
} from '../policy-arbitraries.ts'
import type { AuthorizationRequest } from '../../../src/policy/conditions/authorization-request.ts'
import { compilePolicySet, type WrittenPolicy, type WrittenRule } from '../policy-builder.ts'
import { isThorough } from '../../support/thorough.ts'

const requests = fc.array(fc.oneof(arbitraryRequest, arbitraryRequestBeneath), {
  minLength: 10,
  maxLength: 10,
})
const namespace = fc.array(fc.constantFrom('a', 'b'), { maxLength: 3 })

it('adding a deny allows nothing more', () => {
  fc.assert(
    fc.property(
      arbitraryPolicies,
      namespace,
      arbitraryRule(fc.constant('deny')),
      requests,
      (policies, namespace, rule, requests) => {
        expectNoneMore(withRule(policies, namespace, rule), policies, requests)
      },
    ),
    { numRuns: isThorough ? 500 : 50 },
  )
})

it('adding an allow denies nothing more', () => {
  fc.assert(
    fc.property(
      arbitraryPolicies,
      namespace,
      arbitraryRule(fc.constant('allow')),
      requests,
      (policies, namespace, rule, requests) => {
        expectNoneMore(policies, withRule(policies, namespace, rule), requests)
      },
    ),
    { numRuns: isThorough ? 500 : 50 },
  )
})

it('denies everything without rules', () => {
  fc.assert(
    fc.property(arbitraryPolicies, requests, (policies, requests) => {
      const set = compilePolicySet(policies.map(({ name, namespace }) => ({ name, namespace, rules: [] })))
      for (const request of requests) {
        expect(set.decide(request)).toMatchObject({
          allowed: false,
          reason: 'no_rule',
        })
        expect(set.decideBeneath({ ...request, kind: 'namespace' })).toMatchObject({
          allowed: false,
          reason: 'no_rule',
        })
      }
    }),
  )
})

function withRule(
  policies: readonly WrittenPolicy[],
  namespace: readonly string[],
  rule: Omit<WrittenRule, 'id'>,
): readonly WrittenPolicy[] {
  return [...policies, { name: 'added', namespace, rules: [{ ...rule, id: 'added' }] }]
}

function expectNoneMore(
  fewer: readonly WrittenPolicy[],
  more: readonly WrittenPolicy[],
  requests: readonly AuthorizationRequest[],
): void {
  const [lesser, greater] = [compilePolicySet(fewer), compilePolicySet(more)]
  for (const request of requests) {
    if (lesser.decide(request).allowed) {
      expect(greater.decide(request).allowed).toBe(true)
    }
    if (request.kind === 'namespace' && lesser.decideBeneath(request).allowed) {
      expect(greater.decideBeneath(request).allowed).toBe(true)
    }
  }
}
