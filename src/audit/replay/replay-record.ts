import type { StoredRecord } from '../storage/read-audit-log.ts'
import type { Identifier } from '../../catalog-api/identifiers.ts'
import { findOperation, type AnyOperationName } from '../../catalog-api/operations.ts'
import type { Permission } from '../../catalog-api/permissions.ts'
import type { RuleReference } from '../../policy/engine/decision.ts'
import {
  evaluatePartially,
  type UndecidedRule,
  type ConditionResult,
} from '../../policy/analysis/find-difference.ts'
import { mayRequireOtherObjects } from '../../catalog-api/requirements.ts'
import {
  listRequiredPermissions,
  parseRefusedPermission,
  type RecordedCall,
  type RecordedPermission,
} from './recorded-permissions.ts'
import { recordedNames } from './recorded-names.ts'
import { unknownGroups, type FindGroups, type GroupSource, type KnownGroups } from './known-groups.ts'
import { createConditionReplayer } from './recorded-conditions.ts'
import {
  objectPosition,
  rulesReaching,
  type DocumentIndex,
  type ReachingRule,
} from '../../policy/analysis/reaching-rules.ts'
import { replayRestrictions, type ReplayedRestrictions } from './replayed-restrictions.ts'
import { findTags } from '../../policy/analysis/find-tags.ts'
import type { KnownCaller } from '../../policy/analysis/subject.ts'

export interface ReplayedCall {
  readonly time: string
  readonly request: string
  readonly operation: AnyOperationName
  readonly id: Identifier
  readonly principal: string
  readonly wasAllowed: boolean
  readonly recordedRule: RuleReference | undefined
  /** Undefined if it depends on unrecorded input. */
  readonly isAllowed: boolean | undefined
  readonly decidingRule: ReachingRule | undefined
  readonly missing: readonly string[]
  /** Undefined for a call that is not allowed, and if the restrictions of its table stay. */
  readonly restrictions?: ReplayedRestrictions | undefined
  /** Source of the groups of the caller without which the call would be undecided. */
  readonly groupSource?: GroupSource | undefined
}

/**
 * Decides a recorded call with the candidate policies; undefined for a record that contains no call. Unrecorded input
 * is never guessed: if the decision depends on it, it is undefined. `current` are the policies in force when the record
 * was written, if available: an allowed call cannot have required what they deny.
 */
export function replayRecord(
  record: StoredRecord,
  candidate: DocumentIndex,
  findGroups: FindGroups,
  current?: DocumentIndex,
): ReplayedCall | undefined {
  if (record.kind === 'intent') {
    const decide = (groups: KnownGroups): ReplayedCall =>
      replayCall({ ...record, wasAllowed: true }, candidate, groups, current)
    return decideWithGroups(findGroups(record), decide)
  }
  if (record.kind !== 'refusal') return undefined
  const { operation, id, principal, reason, time, request, client, rule } = record
  const isPolicyRefusal = reason === 'no_rule' || reason === 'denied'
  if (!isPolicyRefusal || operation === undefined || id === undefined || principal === undefined)
    return undefined
  const refused = parseRefusedPermission(record)
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
  return decideWithGroups(findGroups({ principal }), (groups) => replayCall(call, candidate, groups))
}

/** Decides with the most that is known, and finds out how much of it was needed. `known` is ordered: least first. */
function decideWithGroups(
  known: readonly KnownGroups[],
  decide: (groups: KnownGroups) => ReplayedCall,
): ReplayedCall {
  const call = decide(known.at(-1) ?? unknownGroups)
  if (call.isAllowed === undefined) return call
  const needed = [unknownGroups, ...known].find((groups) => decide(groups).isAllowed !== undefined)
  return { ...call, groupSource: needed?.source }
}

function replayCall(
  call: RecordedCall,
  candidate: DocumentIndex,
  groups: KnownGroups,
  current?: DocumentIndex,
): ReplayedCall {
  const { time, request, operation, id, principal, wasAllowed, rule } = call
  const common = { time, request, operation, id, principal: principal.name, wasAllowed, recordedRule: rule }
  const isDenied = (permission: RecordedPermission): boolean =>
    current !== undefined && decidePermission(call, permission, groups, current).isAllowed === false
  const required = listRequiredPermissions(call).filter(
    (permission) => permission.isCertain || !isDenied(permission),
  )
  const decisions = required.map((permission) => ({
    permission,
    ...decidePermission(call, permission, groups, candidate),
  }))
  const denial = decisions.find(({ permission, isAllowed }) => isAllowed === false && permission.isCertain)
  if (denial !== undefined)
    return { ...common, isAllowed: false, decidingRule: denial.decidingRule, missing: [] }
  const missing = new Set(decisions.flatMap(({ missing }) => missing))
  for (const { permission, isAllowed } of decisions) {
    if (isAllowed === false) missing.add(`whether it also required ${permission.permission}`)
  }
  const definition = findOperation(operation)
  if (!wasAllowed && definition !== undefined && mayRequireOtherObjects(definition))
    missing.add('which other permissions it required')
  if (missing.size > 0)
    return { ...common, isAllowed: undefined, decidingRule: undefined, missing: [...missing] }
  const restrictions = replayRestrictions(call, candidate, createKnownCaller(call, groups))
  return { ...common, isAllowed: true, decidingRule: decisions[0]?.decidingRule, missing: [], restrictions }
}

type ReplayedDecision = Pick<ReplayedCall, 'isAllowed' | 'decidingRule' | 'missing'>

function decidePermission(
  call: RecordedCall,
  required: RecordedPermission,
  groups: KnownGroups,
  candidate: DocumentIndex,
): ReplayedDecision {
  const { permission, kind, id } = required
  const position = objectPosition(kind, id)
  const rules = rulesReaching(candidate, position, permission).filter(
    ({ obstacle }) => obstacle === undefined,
  )
  const evaluateCondition = createConditionReplayer({
    ...call,
    facts: required.facts,
    permission,
    kind,
    id,
    groups,
    tags: findTags(candidate, position),
  })
  const conditions = new Map<string, ConditionResult>()
  for (const { condition } of rules.map(({ rule }) => rule)) {
    const result = condition && evaluateCondition(condition)
    if (condition && result !== undefined) conditions.set(condition.text, result)
  }
  const decision = evaluatePartially(rules, { caller: createKnownCaller(call, groups), conditions })
  if ('undecided' in decision)
    return {
      isAllowed: undefined,
      decidingRule: undefined,
      missing: describeUndecided(decision.undecided, call),
    }
  const { allowed, decidingRule } = decision
  if (!allowed && decidingRule === undefined && required.fallback === 'entries-decide')
    return { isAllowed: true, decidingRule: undefined, missing: [] }
  if (!allowed && decidingRule === undefined && required.fallback === 'visibility-decides')
    return { isAllowed: undefined, decidingRule: undefined, missing: ['what the listing may show'] }
  if (!allowed && decidingRule === undefined && required.fallback === 'job-decides')
    return { isAllowed: undefined, decidingRule: undefined, missing: ['the operation that started the job'] }
  const isUndecided =
    allowed && required.includesDescendants && mayDifferForDescendants(candidate, id, permission)
  if (isUndecided)
    return { isAllowed: undefined, decidingRule: undefined, missing: ['what the policies beneath say'] }
  return { isAllowed: allowed, decidingRule, missing: [] }
}

function describeUndecided(rules: readonly UndecidedRule[], { principal }: RecordedCall): readonly string[] {
  const open = rules.flatMap(({ match }) =>
    typeof match === 'boolean' ? [] : [match, ...(match.except ? [match.except] : [])],
  )
  const dependsOnName = open.some(({ users, keys }) => users.length + keys.length > 0)
  const dependsOnGroups = open.some(({ groups }) => groups.length > 0)
  const groups = principal.groupsOmitted === undefined ? 'the groups' : 'all groups'
  return [
    ...(dependsOnName ? ['the name of the caller'] : []),
    ...(dependsOnGroups ? [`${groups} of the caller`] : []),
    ...rules.flatMap(({ condition }) => (condition === undefined ? [] : [`whether ${condition}`])),
  ]
}

function createKnownCaller({ principal }: RecordedCall, { groups, isComplete }: KnownGroups): KnownCaller {
  return { ...recordedNames(principal), groups, excludedGroups: isComplete ? 'all' : new Set() }
}

function mayDifferForDescendants(candidate: DocumentIndex, id: Identifier, permission: Permission): boolean {
  return [...candidate.values()].flat().some(({ namespace, inherit, rules }) => {
    if (!id.every((part, index) => part === namespace[index])) return false
    const denies = rules.some(({ effect, permissions }) => effect === 'deny' && permissions.has(permission))
    return denies || (!inherit && namespace.length > id.length)
  })
}
