import { findOperation } from '../../catalog-api/operations.ts'
import { isWithin } from '../../catalog-api/identifiers.ts'
import { mayRequireOtherObjects } from '../../catalog-api/requirements.ts'
import { anonymousPrincipal } from '../../identity/index.ts'
import type { ConditionInput } from '../conditions/authorization-request.ts'
import { pendingFactError } from '../conditions/fact.ts'
import { createRuleReference } from '../engine/compiled-rule.ts'
import type { RuleAbout, Step } from '../engine/evaluate.ts'
import { objectPosition } from '../engine/object-position.ts'
import { anyCaller, matchSubjects, type KnownCaller } from '../engine/subject.ts'
import type { PolicySet, Question } from '../policy-set.ts'
import { qualifiedRuleName } from '../testing/decision-test.ts'
import { listNameClasses } from './name-classes.ts'
import { listRequiredPermissions, type RecordedCall, type RequiredPermission } from './replay-call.ts'
import { listSteps } from './steps.ts'

export interface ReplayedCall {
  readonly call: RecordedCall
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

/** `recorded` in the audit log, today's groups of an API key in the key store, or `inferred` from the deciding rule. */
export type GroupSource = 'recorded' | 'keys' | 'inferred'

export interface ReplayOptions {
  readonly candidate: PolicySet
  /** Groups of API keys by id. */
  readonly keys?: ReadonlyMap<string, readonly string[]> | undefined
  /** Policies that reveal groups in the records that they decided. */
  readonly current?: PolicySet | undefined
}

/** Groups of a caller. Unless `isComplete`, it may have others. */
interface KnownGroups {
  readonly groups: ReadonlySet<string>
  readonly isComplete: boolean
  readonly source: GroupSource | undefined
}

const unknownGroups: KnownGroups = { groups: new Set(), isComplete: false, source: undefined }

/** Decides a recorded call with the candidate policies. What is not recorded is open, and never guessed. */
export function replayCall(call: RecordedCall, options: ReplayOptions): ReplayedCall {
  const known = listKnownGroups(call, options)
  const decide = (groups: KnownGroups): ReplayedCall => decideCall(call, groups, options.candidate)
  const replayed = decide(known.at(-1) ?? unknownGroups)
  if (replayed.isAllowed === undefined) return replayed
  return { ...replayed, groupSource: known.find((groups) => decide(groups).isAllowed !== undefined)?.source }
}

/** Lists what is known of the groups of the caller, least first. Complete groups of the record exclude those of another time. */
function listKnownGroups(call: RecordedCall, { keys, current }: ReplayOptions): readonly KnownGroups[] {
  const { groups: recorded, hasOtherGroups, key = '' } = call.caller
  const ofKey = recorded === undefined ? keys?.get(key) : undefined
  const complete = (names: readonly string[], source: GroupSource): readonly KnownGroups[] => [
    unknownGroups,
    { groups: new Set(names), isComplete: true, source },
  ]
  if (recorded !== undefined && !hasOtherGroups) return complete(recorded, 'recorded')
  if (ofKey !== undefined) return complete(ofKey, 'keys')
  const groups = new Set(recorded)
  const inferred = new Set([...groups, ...inferGroups(call, current)])
  return [
    unknownGroups,
    { groups, isComplete: false, source: 'recorded' },
    { groups: inferred, isComplete: false, source: 'inferred' },
  ]
}

/** Only a rule without other subjects and with one group reveals a group. */
function inferGroups(call: RecordedCall, current: PolicySet | undefined): readonly string[] {
  const { rule, policyRevision } = call
  if (policyRevision !== current?.revision) return []
  const document = current?.documents.find(({ name }) => name === rule?.policy)
  const subjects = document?.rules.find(({ id }) => id === rule?.rule)?.subjects
  if (subjects === undefined || subjects.any) return []
  const match = matchSubjects(subjects, createKnownCaller(call, unknownGroups))
  if (typeof match === 'boolean' || match.users.length + match.keys.length > 0) return []
  return match.groups.length === 1 ? match.groups : []
}

function createKnownCaller({ caller }: RecordedCall, { groups, isComplete }: KnownGroups): KnownCaller {
  const { method, user, key } = caller
  const excludedGroups = isComplete ? 'all' : anyCaller.excludedGroups
  return { isAnonymous: method === 'anonymous', user, key, groups, excludedGroups }
}

function decideCall(call: RecordedCall, groups: KnownGroups, candidate: PolicySet): ReplayedCall {
  const decisions = listRequiredPermissions(call).map((required) => ({
    required,
    ...decidePermission(call, required, groups, candidate),
  }))
  const denial = decisions.find(({ required, isAllowed }) => isAllowed === false && required.isCertain)
  if (denial !== undefined) return { call, isAllowed: false, decidingRule: denial.decidingRule, missing: [] }
  const missing = new Set(decisions.flatMap((decision) => decision.missing))
  for (const { required, isAllowed } of decisions)
    if (isAllowed === false) missing.add(`whether it also required ${required.permission}`)
  const operation = findOperation(call.operation)
  if (!call.wasAllowed && operation !== undefined && mayRequireOtherObjects(operation))
    missing.add('which other permissions it required')
  if (missing.size > 0) return { call, ...undecided(...missing) }
  const restrictions = replayRestrictions(call, candidate, createKnownCaller(call, groups))
  return { call, isAllowed: true, decidingRule: decisions[0]?.decidingRule, missing: [], restrictions }
}

type Decided = Pick<ReplayedCall, 'isAllowed' | 'decidingRule' | 'missing'>

function undecided(...missing: readonly string[]): Decided {
  return { isAllowed: undefined, decidingRule: undefined, missing }
}

function decidePermission(
  call: RecordedCall,
  required: RequiredPermission,
  groups: KnownGroups,
  candidate: PolicySet,
): Decided {
  const { permission, kind, id, otherwise, includesDescendants } = required
  const question: Question = {
    permission,
    position: objectPosition(kind, id),
    caller: createKnownCaller(call, groups),
    input: createRecordedInput(call, required, groups),
  }
  const { kind: result, by: decidingRule } = candidate.evaluate(question)
  if (result === 'open') return undecided(...describeOpen(listSteps(candidate, question).possible, call))
  if (result === 'denied' && decidingRule === undefined && otherwise !== undefined) {
    if (otherwise !== 'entries') return undecided(otherwise)
    return { isAllowed: true, decidingRule, missing: [] }
  }
  if (result === 'allowed' && includesDescendants && !isAllowedBeneath(candidate, question))
    return undecided('what the policies beneath say')
  return { isAllowed: result === 'allowed', decidingRule, missing: [] }
}

/** Whether all that there may be beneath a namespace is allowed. */
function isAllowedBeneath(candidate: PolicySet, question: Question): boolean {
  const { namespace } = question.position
  const input = { ...question.input, id: undefined }
  return [namespace, ...candidate.documents.map((document) => document.namespace)]
    .filter((beneath) => isWithin(beneath, namespace))
    .every((beneath) =>
      [undefined, ...listNameClasses([candidate], beneath)].every(
        (table) =>
          candidate.evaluate({ ...question, input, position: { namespace: beneath, table } }).kind ===
          'allowed',
      ),
    )
}

/** What the log contains of the input of conditions. The request has the time of its record. */
function createRecordedInput(
  { caller, clientAddress, time }: RecordedCall,
  { kind, id, facts }: RequiredPermission,
  { groups, isComplete }: KnownGroups,
): ConditionInput {
  const { method, user, issuer } = caller
  // Token claims are not recorded; an API key has none.
  const isKnown = method === 'api-key' && isComplete && user !== undefined
  return {
    kind,
    id,
    ...(method === 'anonymous' && { principal: anonymousPrincipal }),
    ...(isKnown && {
      principal: { name: user, method, credentialId: '', groups, ...(issuer !== undefined && { issuer }) },
    }),
    request: {
      get clientAddress() {
        if (clientAddress === undefined) throw pendingFactError
        return clientAddress
      },
      now: new Date(time),
      get context(): never {
        throw pendingFactError
      },
    },
    operation: facts,
  }
}

function describeOpen(rules: readonly Step[], { caller }: RecordedCall): readonly string[] {
  const open = rules.flatMap(({ match }) =>
    typeof match === 'boolean' ? [] : [match, ...(match.except ? [match.except] : [])],
  )
  const dependsOnName = open.some(({ users, keys }) => users.length + keys.length > 0)
  const dependsOnGroups = open.some(({ groups }) => groups.length > 0)
  return [
    ...(dependsOnName ? ['the name of the caller'] : []),
    ...(dependsOnGroups ? [`${caller.hasOtherGroups ? 'all groups' : 'the groups'} of the caller`] : []),
    ...rules.flatMap(({ condition }) => (condition === undefined ? [] : [`whether ${condition.text}`])),
  ]
}

/**
 * Compares the restrictions of a recorded call by name. What it asked for is not in the log, so whether a restriction would
 * refuse it is not known.
 */
function replayRestrictions(
  { operation, id, restrictedBy }: RecordedCall,
  candidate: PolicySet,
  caller: KnownCaller,
): ReplayedCall['restrictions'] {
  const definition = findOperation(operation)
  if (definition === undefined) return undefined
  const before = restrictedBy.map(qualifiedRuleName)
  const [after, possible]: [string[], string[]] = [[], []]
  const position = objectPosition(definition.object, id)
  const { restrictions } = listSteps(candidate, { permission: definition.name, position, caller })
  for (const step of restrictions) {
    const name = qualifiedRuleName(createRuleReference(step))
    // A restriction of the record named the caller.
    const applies = step.match === true || before.includes(name)
    ;(applies ? after : possible).push(name)
  }
  const isSame =
    possible.length === 0 && after.length === before.length && before.every((name) => after.includes(name))
  return isSame ? undefined : { before, after, possible }
}
