import type { Steps } from '../../lib/async/run-in-slices.ts'
import type { AuthorizationRequest } from '../conditions/authorization-request.ts'
import type { Decision } from '../engine/decision.ts'
import type { ReportConditionFailure } from '../engine/compiled-rule.ts'
import { readsPart } from '../engine/object-position.ts'
import type { PolicyDocument } from '../language/policy-document.ts'
import { compileSteps, type PolicySet } from '../policy-set.ts'
import { isSameRestriction } from '../restrictions/restriction.ts'

/** The callbacks must not throw. */
export interface CompileOptions {
  readonly onConditionFailure?: ReportConditionFailure
  /**
   * Called once for each decided authorization request whose decision policies with `mode: shadow` would change. If
   * undefined, they are not evaluated.
   */
  readonly onShadowDifference?: (difference: ShadowDifference) => void
}

/** Compiles documents with unique names. */
export function* compileDocuments(
  documents: readonly PolicyDocument[],
  { onConditionFailure, onShadowDifference }: CompileOptions,
): Steps<PolicySet> {
  const enforced = documents.filter(isEnforced)
  const set = yield* compileSteps(enforced, onConditionFailure)
  if (onShadowDifference === undefined || enforced.length === documents.length) return set
  return withShadow(set, yield* compileSteps(documents), onShadowDifference)
}

export function isEnforced({ isShadow }: PolicyDocument): boolean {
  return !isShadow
}

export interface ShadowDifference {
  readonly request: AuthorizationRequest
  readonly live: Decision
  /** Undefined if the candidate depends on a body that the live policies did not need. */
  readonly candidate: Decision | undefined
}

/** Decides like `live` and compares each decision with `candidate`, if needed after the body has been read. */
export function withShadow(
  live: PolicySet,
  candidate: PolicySet,
  reportDifference: (difference: ShadowDifference) => void,
): PolicySet {
  function compare(
    request: AuthorizationRequest,
    decision: Decision,
    alternative: Decision | undefined,
  ): Decision {
    if (alternative?.allowed !== decision.allowed)
      reportDifference({ request, live: decision, candidate: alternative })
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
    findShadowRestriction(request) {
      if (!readsPart(request.permission)) return undefined
      const restriction = candidate.findRestriction(request)
      return isSameRestriction(live.findRestriction(request), restriction) ? undefined : restriction
    },
  } satisfies PolicySet)
}
