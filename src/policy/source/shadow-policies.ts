import type { Decision } from '../engine/decision.ts'
import type { AuthorizationRequest } from '../conditions/authorization-request.ts'
import type { CallerRestriction } from '../restrictions/restriction.ts'
import { readsPart } from '../analysis/reaching-restrictions.ts'
import type { PolicySet } from '../policy-set.ts'

export interface ShadowDifference {
  readonly request: AuthorizationRequest
  readonly live: Decision
  /** Undefined if the candidate depends on a body that the live policies did not need. */
  readonly candidate: Decision | undefined
}

/** Called once for each decided authorization request with a difference. Must not throw. */
export type ReportShadowDifference = (difference: ShadowDifference) => void

/** Decides like `live` and compares each decision with `candidate`, if needed after the body has been read. */
export function withShadow(
  live: PolicySet,
  candidate: PolicySet,
  reportDifference: ReportShadowDifference,
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
      const isSame = isSameRestriction(live.findRestriction(request), restriction)
      return isSame ? live.findShadowRestriction(request) : { restriction }
    },
  } satisfies PolicySet)
}

function isSameRestriction(
  one: CallerRestriction | undefined,
  other: CallerRestriction | undefined,
): boolean {
  if (one === undefined || other === undefined) return one === other
  const isSameColumn = ([path, type]: readonly [string, string]): boolean => other.columns.get(path) === type
  return (
    one.rows === other.rows && one.columns.size === other.columns.size && [...one.columns].every(isSameColumn)
  )
}
