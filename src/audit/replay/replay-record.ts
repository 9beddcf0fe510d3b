import type { StoredRecord } from '../storage/read-audit-log.ts'
import { anonymousPrincipal } from '../../identity/principal.ts'
import type { Identifier } from '../../catalog-api/identifiers.ts'
import { findOperation, type AnyOperationName } from '../../catalog-api/operations.ts'
import type { Permission } from '../../catalog-api/permissions.ts'
import { mayRequireOtherObjects } from '../../catalog-api/requirements.ts'
import { listPossibleRules } from '../../policy/analysis/rules-in-effect.ts'
import type { ConditionInput } from '../../policy/conditions/authorization-request.ts'
import { pendingFactError } from '../../policy/conditions/fact.ts'
import type { RuleReference } from '../../policy/engine/decision.ts'
import type { RuleAbout, Step } from '../../policy/engine/evaluate.ts'
import { objectPosition } from '../../policy/engine/object-position.ts'
import type { PolicySet, Question } from '../../policy/policy-set.ts'
import { isPseudonym } from '../records/redaction.ts'
import {
  createKnownCaller,
  unknownGroups,
  type FindGroups,
  type GroupSource,
  type KnownGroups,
} from './known-groups.ts'
import {
  listRequiredPermissions,
  parseRefusedPermission,
  type RecordedCall,
  type RecordedPermission,
} from './recorded-permissions.ts'
import { restrictionsReaching } from '../../policy/analysis/reaching-restrictions.ts'
import { createRuleReference } from '../../policy/engine/compiled-rule.ts'
import { matchSubjects, type KnownCaller } from '../../policy/engine/subject.ts'
import { qualifiedRuleName } from '../../policy/testing/decision-test.ts'

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
  readonly decidingRule: RuleAbout | undefined
  readonly missing: readonly string[]
  /** Undefined for a call that is not allowed, and if the restrictions of its table stay. */
  readonly restrictions?:
    | {
        /** Those in the record. */
        readonly before: readonly string[]
        readonly after: readonly string[]
        /** Those that depend on who the caller is, which the record does not say. */
        readonly possible: readonly string[]
      }
    | undefined
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
  candidate: PolicySet,
  findGroups: FindGroups,
  current?: PolicySet,
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
  candidate: PolicySet,
  groups: KnownGroups,
  current?: PolicySet,
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
  const restrictions = replayRestrictions(call, candidate, createKnownCaller(call.principal, groups))
  return { ...common, isAllowed: true, decidingRule: decisions[0]?.decidingRule, missing: [], restrictions }
}

type ReplayedDecision = Pick<ReplayedCall, 'isAllowed' | 'decidingRule' | 'missing'>

function decidePermission(
  call: RecordedCall,
  required: RecordedPermission,
  groups: KnownGroups,
  candidate: PolicySet,
): ReplayedDecision {
  const { permission, kind, id, fallback } = required
  const question: Question = {
    permission,
    position: objectPosition(kind, id),
    caller: createKnownCaller(call.principal, groups),
    input: createRecordedInput(call, required, groups),
  }
  const { kind: result, by: decidingRule } = candidate.evaluate(question)
  if (result === 'open') return undecided(...describeOpen(listPossibleRules(candidate, question), call))
  const isAllowed = result === 'allowed'
  if (!isAllowed && decidingRule === undefined && fallback !== undefined) {
    if (fallback === 'entries-decide') return { isAllowed: true, decidingRule, missing: [] }
    return undecided(
      fallback === 'visibility-decides' ? 'what the listing may show' : 'the operation that started the job',
    )
  }
  if (isAllowed && required.includesDescendants && mayDifferForDescendants(candidate, id, permission))
    return undecided('what the policies beneath say')
  return { isAllowed, decidingRule, missing: [] }
}

function undecided(...missing: readonly string[]): ReplayedDecision {
  return { isAllowed: undefined, decidingRule: undefined, missing }
}

/** What the log contains of the input of conditions. The request has the time of its record. */
function createRecordedInput(
  { principal, client, time }: RecordedCall,
  { kind, id, facts }: RecordedPermission,
  groups: KnownGroups,
): ConditionInput {
  const { method, issuer } = principal
  // Token claims are not recorded; an API key has none.
  const isComplete = method === 'api-key' && groups.isComplete && !isPseudonym(principal.name)
  return {
    kind,
    id,
    ...(method === 'anonymous' && { principal: anonymousPrincipal }),
    ...(isComplete && {
      principal: { ...principal, groups: groups.groups, ...(issuer !== undefined && { issuer }) },
    }),
    request: {
      get clientAddress() {
        if (isPseudonym(client)) throw pendingFactError
        return client
      },
      now: new Date(time),
      get context(): never {
        throw pendingFactError
      },
    },
    operation: facts,
  }
}

function describeOpen(rules: readonly Step[], { principal }: RecordedCall): readonly string[] {
  const open = rules.flatMap(({ match }) =>
    typeof match === 'boolean' ? [] : [match, ...(match.except ? [match.except] : [])],
  )
  const dependsOnName = open.some(({ users, keys }) => users.length + keys.length > 0)
  const dependsOnGroups = open.some(({ groups }) => groups.length > 0)
  const groups = principal.groupsOmitted === undefined ? 'the groups' : 'all groups'
  return [
    ...(dependsOnName ? ['the name of the caller'] : []),
    ...(dependsOnGroups ? [`${groups} of the caller`] : []),
    ...rules.flatMap(({ condition }) => (condition === undefined ? [] : [`whether ${condition.text}`])),
  ]
}

function mayDifferForDescendants(candidate: PolicySet, id: Identifier, permission: Permission): boolean {
  return candidate.documents.some(({ namespace, inherit, rules }) => {
    if (!id.every((part, index) => part === namespace[index])) return false
    const denies = rules.some(({ effect, permissions }) => effect === 'deny' && permissions.has(permission))
    return denies || (!inherit && namespace.length > id.length)
  })
}

/**
 * Compares the restrictions of a recorded call by name; undefined if they are the same. What it asked for is not in the log, so
 * whether a restriction would refuse it is not known.
 */
function replayRestrictions(
  { operation, id, restrictedBy = [] }: RecordedCall,
  candidate: PolicySet,
  caller: KnownCaller,
): ReplayedCall['restrictions'] {
  const definition = findOperation(operation)
  if (definition === undefined) return undefined
  const matches = restrictionsReaching(candidate, objectPosition(definition.object, id), definition.name).map(
    (reaching) => ({
      name: qualifiedRuleName(createRuleReference(reaching)),
      match: matchSubjects(reaching.rule.subjects, caller),
    }),
  )
  const before = restrictedBy.map(qualifiedRuleName)
  const certain = matches.flatMap(({ name, match }) => (match === true ? [name] : []))
  const open = matches.flatMap(({ name, match }) => (typeof match === 'boolean' ? [] : [name]))
  // A restriction of the record named the caller.
  const after = [...certain, ...open.filter((name) => before.includes(name))]
  const possible = open.filter((name) => !before.includes(name))
  const isSame =
    possible.length === 0 && after.length === before.length && before.every((name) => after.includes(name))
  return isSame ? undefined : { before, after, possible }
}
