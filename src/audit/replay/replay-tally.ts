import { createRuleReference } from '../../policy/engine/compiled-rule.ts'
import type { PolicySet } from '../../policy/policy-set.ts'
import type { LoadedPolicies } from '../../policy/source/load-policies.ts'
import type { StoredRecord } from '../storage/read-audit-log.ts'
import type { FindGroups, GroupSource } from './known-groups.ts'
import { replayRecord, type ReplayedCall } from './replay-record.ts'

/** Calls with equal results. */
export interface ReplayedCalls {
  readonly example: ReplayedCall
  readonly count: number
}

interface ReplayResult {
  readonly calls: number
  readonly unchanged: number
  readonly changed: readonly ReplayedCalls[]
  readonly undecided: readonly ReplayedCalls[]
  /** Allowed calls that other restrictions would apply to; they may be among the others, too. */
  readonly restricted: readonly ReplayedCalls[]
  readonly decidedByGroups: Readonly<Record<GroupSource, number>>
}

interface ReplayTally {
  /** Replays the call of a record, if it has one. */
  add(record: StoredRecord): void
  getResult(): ReplayResult
}

/**
 * Replays records against candidate policies. `current` are the policies in force, if they are available. Calls with
 * equal results are counted together, so that a long log needs little memory.
 */
export function createReplayTally(
  candidate: PolicySet,
  findGroups: FindGroups,
  current: LoadedPolicies | undefined,
): ReplayTally {
  const tallies = new Map<string, ReplayedCalls>()
  const decidedByGroups: Record<GroupSource, number> = { recorded: 0, keys: 0, inferred: 0 }
  return {
    add(record) {
      const isCurrent = record.kind === 'intent' && record.policyRevision === current?.set.revision
      const call = replayRecord(record, candidate, findGroups, isCurrent ? current?.set : undefined)
      if (call === undefined) return
      if (call.groupSource !== undefined) decidedByGroups[call.groupSource] += 1
      const key = createResultKey(call)
      const before = tallies.get(key)
      tallies.set(key, { example: before?.example ?? call, count: (before?.count ?? 0) + 1 })
    },
    getResult() {
      const all = [...tallies.values()]
      const changed = all.filter(({ example }) => isChanged(example))
      const undecided = all.filter(({ example }) => example.isAllowed === undefined)
      const calls = countCalls(all)
      const unchanged = calls - countCalls(changed) - countCalls(undecided)
      const restricted = all.filter(({ example }) => example.restrictions !== undefined)
      return { calls, unchanged, changed, undecided, restricted, decidedByGroups }
    },
  }
}

function createResultKey(call: ReplayedCall): string {
  return JSON.stringify([describeResult(call), call.decidingRule?.implication])
}

function isChanged({ wasAllowed, isAllowed }: ReplayedCall): boolean {
  return isAllowed !== undefined && isAllowed !== wasAllowed
}

export function countCalls(calls: readonly ReplayedCalls[]): number {
  return calls.reduce((sum, { count }) => sum + count, 0)
}

/** Describes calls for JSON. */
export function describeReplayedCalls({ example, count }: ReplayedCalls) {
  const { time, id, request } = example
  return { count, ...describeResult(example), example: { time, id, request } }
}

function describeResult({
  operation,
  principal,
  wasAllowed,
  recordedRule,
  isAllowed,
  decidingRule,
  missing,
  restrictions,
}: ReplayedCall) {
  return {
    operation,
    principal,
    before: { allowed: wasAllowed, ...(recordedRule && { rule: recordedRule }) },
    ...(isAllowed === undefined
      ? { missing }
      : { after: { allowed: isAllowed, ...(decidingRule && { rule: createRuleReference(decidingRule) }) } }),
    ...(restrictions && { restrictions }),
  }
}
