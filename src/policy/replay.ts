import type { StoredRecord } from '../audit/read.ts'
import type { IntentEntry } from '../audit/records.ts'
import type { Identifier } from '../interface/identifiers.ts'
import { operationNamed, type OperationName } from '../interface/operations.ts'
import type { Permission } from '../interface/permissions.ts'
import type { RuleReference } from './decision.ts'
import { reduce, type OpenRule, type Truth } from './decision-logic.ts'
import { asksElsewhere } from './operation-facts.ts'
import { needsOf, refusedPermission, type RecordedCall, type RecordedNeed } from './recorded-needs.ts'
import { recordedTruth } from './recorded-question.ts'
import { positionOf, rulesReaching, type DocumentIndex, type ReachingRule } from './rule-reach.ts'
import type { KnownCaller } from './subject-logic.ts'

/** The groups of a caller as far as they are known from elsewhere: the log does not hold them. */
interface KnownGroups {
  readonly groups: ReadonlySet<string>
  /** Whether there are no others. */
  readonly isComplete: boolean
}

/** Tells the groups of the caller of a recorded call. */
export type GroupsOf = (call: Pick<IntentEntry, 'principal'> & Partial<IntentEntry>) => KnownGroups

/** A call of the log as the candidate policies decide it. */
export interface ReplayedCall {
  readonly time: string
  readonly request: string
  readonly operation: OperationName
  readonly id: Identifier
  readonly principal: string
  readonly wasAllowed: boolean
  /** The rule that decided then. */
  readonly before: RuleReference | undefined
  /** Undefined where it depends on what the log does not hold. */
  readonly isAllowed: boolean | undefined
  /** The rule that would decide. */
  readonly after: ReachingRule | undefined
  /** What the answer depends on and the log does not hold. */
  readonly missing: readonly string[]
}

/**
 * Decides a call of the audit log anew; undefined for a record that tells of none. What the log does not hold is
 * never guessed: where the answer depends on it, there is none. `current` are the policies that the record was
 * written under, where they are at hand: what they deny, an allowed call has not asked for.
 */
export function replayRecord(
  record: StoredRecord,
  candidate: DocumentIndex,
  groupsOf: GroupsOf,
  current?: DocumentIndex,
): ReplayedCall | undefined {
  if (record.kind === 'intent') {
    return replay({ ...record, wasAllowed: true }, candidate, groupsOf(record), current)
  }
  if (record.kind !== 'refusal') return undefined
  const { operation, id, principal, reason, time, request, client, rule } = record
  const isByPolicy = reason === 'no_rule' || reason === 'denied'
  if (!isByPolicy || operation === undefined || id === undefined || principal === undefined) return undefined
  const refused = refusedPermission(record)
  const call = {
    operation,
    id,
    principal,
    time,
    request,
    client,
    wasAllowed: false,
    refused,
    ...(rule && { rule }),
  }
  return replay(call, candidate, groupsOf({ principal }))
}

function replay(
  call: RecordedCall,
  candidate: DocumentIndex,
  groups: KnownGroups,
  current?: DocumentIndex,
): ReplayedCall {
  const { time, request, operation, id, principal, wasAllowed, rule } = call
  const about = { time, request, operation, id, principal: principal.name, wasAllowed, before: rule }
  const isDenied = (need: RecordedNeed): boolean =>
    current !== undefined && answerTo(call, need, groups, current).isAllowed === false
  const needs = needsOf(call).filter((need) => need.certain || !isDenied(need))
  const answers = needs.map((need) => ({ need, ...answerTo(call, need, groups, candidate) }))
  const denial = answers.find(({ need, isAllowed }) => isAllowed === false && need.certain)
  if (denial !== undefined) return { ...about, isAllowed: false, after: denial.after, missing: [] }
  const missing = new Set(answers.flatMap(({ missing }) => missing))
  for (const { need, isAllowed } of answers) {
    if (isAllowed === false) missing.add(`whether it also required ${need.permission}`)
  }
  if (!wasAllowed && asksElsewhere(operationNamed(operation)))
    missing.add('which other permissions it required')
  if (missing.size > 0) return { ...about, isAllowed: undefined, after: undefined, missing: [...missing] }
  return { ...about, isAllowed: true, after: answers[0]?.after, missing: [] }
}

type Answer = Pick<ReplayedCall, 'isAllowed' | 'after' | 'missing'>

function answerTo(
  call: RecordedCall,
  need: RecordedNeed,
  groups: KnownGroups,
  candidate: DocumentIndex,
): Answer {
  const { permission, kind, id } = need
  const rules = rulesReaching(candidate, positionOf(kind, id), permission).filter(
    ({ obstacle }) => obstacle === undefined,
  )
  const truthOf = recordedTruth({ ...call, facts: need.facts, permission, kind, id, groups })
  const conditions = new Map<string, Truth>()
  for (const { condition } of rules.map(({ rule }) => rule)) {
    const truth = condition && truthOf(condition)
    if (condition && truth !== undefined) conditions.set(condition.text, truth)
  }
  const reduced = reduce(rules, { caller: callerIn(call, groups), conditions })
  if ('open' in reduced) return { isAllowed: undefined, after: undefined, missing: openIn(reduced.open) }
  const { allowed, by } = reduced
  if (!allowed && by === undefined && need.otherwise === 'entries-decide')
    return { isAllowed: true, after: undefined, missing: [] }
  if (!allowed && by === undefined && need.otherwise === 'what-is-visible')
    return { isAllowed: undefined, after: undefined, missing: ['what the listing may show'] }
  const isOpen = allowed && need.beneath && speaksBeneath(candidate, id, permission)
  if (isOpen) return { isAllowed: undefined, after: undefined, missing: ['what the policies beneath say'] }
  return { isAllowed: allowed, after: by, missing: [] }
}

function openIn(rules: readonly OpenRule[]): readonly string[] {
  const isOfGroups = rules.some(({ concern }) => typeof concern !== 'boolean')
  return [
    ...(isOfGroups ? ['the groups of the caller'] : []),
    ...rules.flatMap(({ condition }) => (condition === undefined ? [] : [`whether ${condition}`])),
  ]
}

function callerIn({ principal }: RecordedCall, { groups, isComplete }: KnownGroups): KnownCaller {
  return {
    isAnonymous: principal.method === 'anonymous',
    user: principal.name,
    key: principal.method === 'api-key' ? principal.credentialId : '',
    groups,
    others: isComplete ? 'all' : new Set(),
  }
}

/** Whether something in the namespace or beneath it may be decided otherwise than the namespace. */
function speaksBeneath(candidate: DocumentIndex, id: Identifier, permission: Permission): boolean {
  return [...candidate.values()].flat().some(({ namespace, inherit, rules }) => {
    if (!id.every((part, index) => part === namespace[index])) return false
    const denies = rules.some(({ effect, permissions }) => effect === 'deny' && permissions.has(permission))
    return denies || (!inherit && namespace.length > id.length)
  })
}
