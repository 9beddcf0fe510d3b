import type { Decision } from '../engine/decision.ts'
import type { AuthorizationRequest } from '../conditions/authorization-request.ts'
import type { PolicySet } from '../policy-set.ts'

/** A question that other policies than those in force would have decided otherwise. */
export interface ShadowDifference {
  readonly request: AuthorizationRequest
  readonly live: Decision
  /** Undefined where it would have depended on a body that the live policies had no need to read. */
  readonly candidate: Decision | undefined
}

/** Takes the differences; it must not throw, and is called once for each question that is decided. */
export type ReportShadowDifference = (difference: ShadowDifference) => void

/**
 * The live policies, which alone decide, with a candidate beside them that is asked the same questions. What cannot
 * be decided before the body has been read is compared when it has been.
 */
export function withShadow(
  live: PolicySet,
  candidate: PolicySet,
  differs: ReportShadowDifference,
): PolicySet {
  function compare(request: AuthorizationRequest, decision: Decision, other: Decision | undefined): Decision {
    if (other?.allowed !== decision.allowed) differs({ request, live: decision, candidate: other })
    return decision
  }

  return Object.freeze({
    ...live,
    decide: (request) => compare(request, live.decide(request), candidate.decide(request)),
    decideBeneath: (request) =>
      compare(request, live.decideBeneath(request), candidate.decideBeneath(request)),
    decidePartially(request) {
      const decision = live.decidePartially(request)
      return decision && compare(request, decision, candidate.decidePartially(request))
    },
  } satisfies PolicySet)
}
