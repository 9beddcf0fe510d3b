import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { Decision } from '../../../src/policy/engine/decision.ts'
import {
  type AuthorizationRequest,
  type Fact,
  noFacts,
  type OperationFacts,
  pending,
  unknown,
} from '../../../src/policy/conditions/authorization-request.ts'
import {
  arbitraryPolicies,
  arbitraryRequest,
  arbitraryRequestBeneath,
  taggedPolicies,
} from '../policy-arbitraries.ts'
import { oracleDecide, oracleDecideBeneath, type OracleDecision } from '../decision-oracle.ts'
import { compilePolicies } from '../../../src/policy/policy-set.ts'
import { compilePolicySet, formatPolicies, parseDocuments } from '../policy-builder.ts'
import { isThorough } from '../../support/thorough.ts'

const requests = fc.array(arbitraryRequest, { minLength: 10, maxLength: 10 })
const requestsBeneath = fc.array(arbitraryRequestBeneath, { minLength: 10, maxLength: 10 })

it.each([
  ['of any kind', arbitraryPolicies],
  ['whose conditions ask for tags', taggedPolicies],
])('decides like a scan of all rules and names the same rule: policies %s', (_what, policies) => {
  fc.assert(
    fc.property(policies, requests, (policies, requests) => {
      const documents = parseDocuments(policies)
      // Documents pass between threads.
      const set = compilePolicies(structuredClone(documents))
      expect(set.revision).toBe(compilePolicies(documents).revision)
      for (const request of requests) {
        expect(responseOf(set.decide(request)), show(request)).toEqual(oracleDecide(policies, request))
      }
    }),
    { numRuns: isThorough ? 2000 : 65 },
  )
})

/** Every condition reads the id. */
const readingIds = arbitraryPolicies.map((written) =>
  written.map((policy) => ({
    ...policy,
    rules: policy.rules.map((rule) => ({ ...rule, ...(rule.when && { when: 'id.size() == 2' }) })),
  })),
)

it.each([
  ['of any kind', arbitraryPolicies],
  ['whose conditions ask for ids', readingIds],
])('decides on everything beneath like deciding on each object: policies %s', (_what, policies) => {
  let allowed = 0
  let refusedBeneath = 0
  fc.assert(
    fc.property(policies, requestsBeneath, (policies, requests) => {
      const set = compilePolicySet(policies)
      for (const request of requests) {
        const { allowed: isAllowed, reason } = responseOf(set.decideBeneath(request))
        const expected = oracleDecideBeneath(policies, request)
        expect({ allowed: isAllowed, reason }, show(request)).toEqual({
          allowed: expected.allowed,
          reason: expected.reason,
        })
        if (isAllowed) allowed++
        else if (set.decide(request).allowed) refusedBeneath++
      }
    }),
    { numRuns: isThorough ? 2000 : 65 },
  )
  expect(Math.min(allowed, refusedBeneath)).toBeGreaterThan(5)
})

it('allows each object beneath if it allows everything beneath, also by tags', () => {
  let allowed = 0
  fc.assert(
    fc.property(taggedPolicies, requests, fc.nat(3), (policies, requests, length) => {
      const set = compilePolicySet(policies)
      for (const request of requests) {
        const { kind, id } = request
        const ownParts = { namespace: 0, transaction: 2 }[kind as string] ?? 1
        const top = id.slice(0, Math.min(length, Math.max(0, id.length - ownParts)))
        if (set.decideBeneath({ ...request, kind: 'namespace', id: top }).allowed) {
          allowed++
          expect(set.decide(request).allowed, formatPolicies(policies)).toBe(true)
        }
      }
    }),
    { numRuns: isThorough ? 1000 : 30 },
  )
  expect(allowed).toBeGreaterThan(5)
})

/** Facts that an unread body may state. */
const unread: OperationFacts = { ...noFacts, branch: pending, metadata: pending }

const bodies: readonly OperationFacts[] = (['main', 'dev', 'ci/7', unknown] satisfies Fact<string>[]).flatMap(
  (branch) =>
    [new Map<string, string>(), new Map([['ticket', 'T-1']])].map((metadata) => ({
      ...noFacts,
      branch,
      metadata,
    })),
)

it('decides before the body exactly what no body can change', () => {
  let decided = 0
  let undecided = 0
  fc.assert(
    fc.property(arbitraryPolicies, requests, (policies, requests) => {
      const set = compilePolicySet(policies)
      for (const request of requests) {
        const beforeBody = { ...request, operation: unread }
        const decision = set.decidePartially(beforeBody)
        const [pessimistic, optimistic] = (['pessimistic', 'optimistic'] as const).map(
          (partial) => oracleDecide(policies, beforeBody, partial).allowed,
        )
        expect(decision?.allowed, show(request)).toBe(pessimistic === optimistic ? pessimistic : undefined)
        expect(set.decide(beforeBody).allowed, show(request)).toBe(pessimistic)
        if (decision === undefined) undecided++
        else decided++
        for (const operation of decision === undefined ? [] : bodies) {
          expect(set.decide({ ...request, operation }).allowed, show(request)).toBe(pessimistic)
        }
      }
    }),
    { numRuns: isThorough ? 2000 : 65 },
  )
  expect(Math.min(decided, undecided)).toBeGreaterThan(5)
})

it('decides partially like completely if the body is known', () => {
  fc.assert(
    fc.property(arbitraryPolicies, requests, (policies, requests) => {
      const set = compilePolicySet(policies)
      for (const request of requests) expect(set.decidePartially(request)).toBe(set.decide(request))
    }),
  )
})

function responseOf(decision: Decision): OracleDecision {
  return {
    allowed: decision.allowed,
    reason: decision.allowed ? undefined : decision.reason,
    rule: decision.rule && `${decision.rule.policy}/${decision.rule.rule}`,
  }
}

function show({ principal, permission, kind, id }: AuthorizationRequest): string {
  return `${principal.name} [${[...principal.groups].join()}] ${permission} ${kind} ${JSON.stringify(id)}`
}
