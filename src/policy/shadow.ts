import type { Decision } from './decision.ts'
import type { Question } from './question.ts'
import type { PolicySet } from './trie.ts'

/** A question that other policies than those in force would have decided otherwise. */
export interface ShadowDifference {
  readonly question: Question
  readonly live: Decision
  /** Undefined where it would have depended on a body that the live policies had no need to read. */
  readonly candidate: Decision | undefined
}

/** Takes the differences; it must not throw, and is called once for each question that is decided. */
export type ShadowDiffers = (difference: ShadowDifference) => void

/**
 * The live policies, which alone decide, with a candidate beside them that is asked the same questions. What cannot
 * be decided before the body has been read is compared when it has been.
 */
export function shadowed(live: PolicySet, candidate: PolicySet, differs: ShadowDiffers): PolicySet {
  function compare(question: Question, decision: Decision, other: Decision | undefined): Decision {
    if (other?.allowed !== decision.allowed) differs({ question, live: decision, candidate: other })
    return decision
  }

  return Object.freeze({
    ...live,
    decide: (question) => compare(question, live.decide(question), candidate.decide(question)),
    decideBeneath: (question) =>
      compare(question, live.decideBeneath(question), candidate.decideBeneath(question)),
    foresee(question) {
      const decision = live.foresee(question)
      return decision && compare(question, decision, candidate.foresee(question))
    },
  } satisfies PolicySet)
}
