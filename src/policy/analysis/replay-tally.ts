import { createRuleReference } from '../engine/compiled-rule.ts'
import type { RecordedCall } from './replay-call.ts'
import { replayCall, type GroupSource, type ReplayedCall, type ReplayOptions } from './replay.ts'

/** Calls with equal results. */
export interface ReplayedCalls {
  readonly example: ReplayedCall
  readonly count: number
}

/** Replays calls. Those with equal results are counted together, so that a long log needs little memory. */
export class ReplayTally {
  readonly #options: ReplayOptions
  readonly #tallies = new Map<string, ReplayedCalls>()
  readonly #decidedByGroups: Record<GroupSource, number> = { recorded: 0, keys: 0, inferred: 0 }

  constructor(options: ReplayOptions) {
    this.#options = options
  }

  add(call: RecordedCall | undefined): void {
    if (call === undefined) return
    const replayed = replayCall(call, this.#options)
    if (replayed.groupSource !== undefined) this.#decidedByGroups[replayed.groupSource] += 1
    const key = JSON.stringify([describeResult(replayed), replayed.decidingRule?.implication])
    const { example = replayed, count = 0 } = this.#tallies.get(key) ?? {}
    this.#tallies.set(key, { example, count: count + 1 })
  }

  /** Those in `restricted` are allowed calls that other restrictions would apply to; they may be among the others, too. */
  getResult() {
    const all = [...this.#tallies.values()]
    const select = (is: (call: ReplayedCall) => boolean) => all.filter(({ example }) => is(example))
    const undecided = select(({ isAllowed }) => isAllowed === undefined)
    const changed = select(({ isAllowed, call }) => isAllowed !== undefined && isAllowed !== call.wasAllowed)
    const calls = countCalls(all)
    return {
      calls,
      unchanged: calls - countCalls(changed) - countCalls(undecided),
      changed,
      undecided,
      restricted: select(({ restrictions }) => restrictions !== undefined),
      decidedByGroups: this.#decidedByGroups,
    }
  }
}

export function countCalls(calls: readonly ReplayedCalls[]): number {
  return calls.reduce((sum, { count }) => sum + count, 0)
}

/** Describes calls for JSON. */
export function describeReplayedCalls({ example, count }: ReplayedCalls) {
  const { time, id, request } = example.call
  return { count, ...describeResult(example), example: { time, id, request } }
}

function describeResult({ call, isAllowed, decidingRule, missing, restrictions }: ReplayedCall) {
  const { operation, principal, wasAllowed, rule } = call
  return {
    operation,
    principal,
    before: { allowed: wasAllowed, ...(rule && { rule }) },
    ...(isAllowed === undefined
      ? { missing }
      : { after: { allowed: isAllowed, ...(decidingRule && { rule: createRuleReference(decidingRule) }) } }),
    ...(restrictions && { restrictions }),
  }
}
