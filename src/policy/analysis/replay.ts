import { findOperation } from '../../catalog-api/operations.ts'
import { isWithin } from '../../catalog-api/identifiers.ts'
import { mayRequireOtherObjects } from '../../catalog-api/requirements.ts'
import { anonymousPrincipal } from '../../identity/index.ts'
import type { ConditionInput } from '../conditions/authorization-request.ts'
import { pendingFactError } from '../conditions/fact.ts'
import { createRuleReference } from '../engine/compiled-rule.ts'
import type { RuleReference } from '../engine/decision.ts'
import type { Step } from '../engine/evaluate.ts'
import { objectPosition } from '../engine/object-position.ts'
import { anyCaller, matchSubjects, type KnownCaller } from '../engine/subject.ts'
import type { PolicySet, Question } from '../policy-set.ts'
import { qualifiedRuleName } from '../testing/decision-test.ts'
import { listNameClasses } from './name-classes.ts'
import { listRequiredPermissions, type RecordedCall, type RequiredPermission } from './replay-call.ts'
import { listSteps, reportRule, type ReportedRule } from './steps.ts'

/** What a call in an audit log was decided to, and what it would be. */
export interface ReplayedCall extends Pick<RecordedCall, 'operation' | 'principal'> {
  readonly before: { readonly allowed: boolean; readonly rule?: RuleReference }
  /** Undefined if it depends on unrecorded input. */
  readonly after?: { readonly allowed: boolean; readonly rule?: ReportedRule }
  /** If `after` is undefined: what the log does not contain. */
  readonly missing?: readonly string[]
  /** Undefined for a call that is not allowed, and if the restrictions of its table stay. */
  readonly restrictions?: {
    /** Those in the record. */
    readonly before: readonly string[]
    readonly after: readonly string[]
    /** Those that depend on who the caller is, which the record does not say. */
    readonly possible: readonly string[]
  }
}

interface ReplayOptions {
  readonly candidate: PolicySet
  /** Groups of API keys by id. */
  readonly keys?: ReadonlyMap<string, readonly string[]> | undefined
  /** Policies that reveal groups in the records that they decided. */
  readonly current?: PolicySet | undefined
}

/** Calls with equal results. */
export interface ReplayedCalls extends ReplayedCall {
  readonly count: number
  readonly example: Pick<RecordedCall, 'time' | 'id' | 'request'>
}

/** Replays calls. Those with equal results are counted together, so that a long log needs little memory. */
export class ReplayTally {
  readonly #options: ReplayOptions
  readonly #tallies = new Map<string, ReplayedCalls>()

  constructor(options: ReplayOptions) {
    this.#options = options
  }

  add(call: RecordedCall | undefined): void {
    if (call === undefined) return
    const replayed = replayCall(call, this.#options)
    const key = JSON.stringify(replayed)
    const { time, id, request } = call
    const { example = { time, id, request }, count = 0 } = this.#tallies.get(key) ?? {}
    this.#tallies.set(key, { count: count + 1, ...replayed, example })
  }

  /** Those in `restricted` are allowed calls that other restrictions would apply to; they may be among the others, too. */
  getResult() {
    const all = [...this.#tallies.values()]
    const undecided = all.filter(({ after }) => after === undefined)
    const changed = all.filter(({ before, after }) => after && after.allowed !== before.allowed)
    const calls = countCalls(all)
    return {
      calls,
      unchanged: calls - countCalls(changed) - countCalls(undecided),
      changed,
      undecided,
      restricted: all.filter(({ restrictions }) => restrictions !== undefined),
    }
  }
}

export function countCalls(calls: readonly ReplayedCalls[]): number {
  return calls.reduce((sum, { count }) => sum + count, 0)
}

/** Decides a recorded call with the candidate policies. What is not recorded is open, and never guessed. */
export function replayCall(call: RecordedCall, options: ReplayOptions): ReplayedCall {
  const { candidate } = options
  const { operation, principal, wasAllowed, rule } = call
  const caller = identifyCaller(call, options)
  const common = { operation, principal, before: { allowed: wasAllowed, ...(rule && { rule }) } }
  const decisions = listRequiredPermissions(call).map((required) => ({
    required,
    ...decidePermission(call, required, caller, candidate),
  }))
  const denial = decisions.find(({ required, after }) => after?.allowed === false && required.isCertain)
  if (denial?.after !== undefined) return { ...common, after: denial.after }
  const definition = findOperation(operation)
  const missing = new Set([
    ...decisions.flatMap(({ missing = [] }) => missing),
    ...decisions.flatMap(({ required, after }) =>
      after?.allowed === false ? [`whether it also required ${required.permission}`] : [],
    ),
    ...(!wasAllowed && definition !== undefined && mayRequireOtherObjects(definition)
      ? ['which other permissions it required']
      : []),
  ])
  if (missing.size > 0) return { ...common, missing: [...missing] }
  const restrictions = replayRestrictions(call, candidate, caller)
  return { ...common, after: decisions[0]?.after ?? { allowed: true }, ...(restrictions && { restrictions }) }
}

/** What is known of the caller. Complete groups of the record exclude those of another time. */
function identifyCaller(call: RecordedCall, { keys, current }: ReplayOptions): KnownCaller {
  const { method, user, key, groups, hasOtherGroups } = call.caller
  const recorded = { ...anyCaller, isAnonymous: method === 'anonymous', user, key }
  const complete = groups === undefined ? keys?.get(key ?? '') : hasOtherGroups ? undefined : groups
  if (complete !== undefined) return { ...recorded, groups: new Set(complete), excludedGroups: 'all' }
  return { ...recorded, groups: new Set([...(groups ?? []), ...inferGroups(call, recorded, current)]) }
}

/** Only a rule without other subjects and with one group reveals a group. */
function inferGroups(
  { rule, policyRevision }: RecordedCall,
  caller: KnownCaller,
  current: PolicySet | undefined,
): readonly string[] {
  if (policyRevision !== current?.revision) return []
  const document = current?.documents.find(({ name }) => name === rule?.policy)
  const subjects = document?.rules.find(({ id }) => id === rule?.rule)?.subjects
  if (subjects === undefined || subjects.any) return []
  const match = matchSubjects(subjects, caller)
  if (typeof match === 'boolean' || match.users.length + match.keys.length > 0) return []
  return match.groups.length === 1 ? match.groups : []
}

type Decided = Pick<ReplayedCall, 'after' | 'missing'>

function decidePermission(
  call: RecordedCall,
  required: RequiredPermission,
  caller: KnownCaller,
  candidate: PolicySet,
): Decided {
  const { permission, kind, id, otherwise, includesDescendants } = required
  const input = createRecordedInput(call, required, caller)
  const question: Question = { permission, position: objectPosition(kind, id), caller, input }
  const { kind: result, by } = candidate.evaluate(question)
  if (result === 'open') return { missing: describeOpen(listSteps(candidate, question).possible, call) }
  if (result === 'denied' && by === undefined && otherwise !== undefined)
    return otherwise === 'entries' ? { after: { allowed: true } } : { missing: [otherwise] }
  if (result === 'allowed' && includesDescendants && !isAllowedBeneath(candidate, question))
    return { missing: ['what the policies beneath say'] }
  return { after: { allowed: result === 'allowed', ...(by && { rule: reportRule(by) }) } }
}

/** Whether all that there may be beneath a namespace is allowed. */
function isAllowedBeneath(candidate: PolicySet, question: Question): boolean {
  const { namespace } = question.position
  const input = { ...question.input, id: undefined }
  return [namespace, ...candidate.documents.map((document) => document.namespace)]
    .filter((beneath) => isWithin(beneath, namespace))
    .every((beneath) =>
      [undefined, ...listNameClasses([candidate], beneath)].every((table) => {
        const position = { namespace: beneath, table }
        return candidate.evaluate({ ...question, input, position }).kind === 'allowed'
      }),
    )
}

/** What the log contains of the input of conditions. The request has the time of its record. */
function createRecordedInput(
  { caller, clientAddress, time }: RecordedCall,
  { kind, id, facts }: RequiredPermission,
  { groups, excludedGroups }: KnownCaller,
): ConditionInput {
  const { method, user, issuer } = caller
  // Token claims are not recorded; an API key has none.
  const isKnown = method === 'api-key' && excludedGroups === 'all' && user !== undefined
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
