import {
  type AnyOperationName,
  findOperation,
  getOperation,
  getRequirements,
  type Identifier,
  isOperationName,
  isWithin,
  mayRequireOtherObjects,
  type Operation,
  type Permission,
} from '../../catalog-api/index.ts'
import { anonymousPrincipal } from '../../identity/index.ts'
import type { ConditionInput } from '../conditions/authorization-request.ts'
import {
  operationFactsOf,
  type KnownFacts,
  allPending,
  constantFacts,
  requirementFacts,
} from '../conditions/permission-facts.ts'
import type { Step } from '../engine/evaluate.ts'
import { objectKindOfPermission, objectPosition, type ObjectPosition } from '../engine/object-position.ts'
import type { KnownCaller } from '../engine/subject.ts'
import type { PolicySet, PartialRequest } from '../policy-set.ts'
import type { DecisionReport } from './diff-policies.ts'
import { listOpenNames, listSteps, reportRule } from './steps.ts'

/** A call in an audit log, as far as the log says. */
export interface RecordedCall {
  readonly time: string
  readonly request: string
  readonly operation: AnyOperationName
  readonly id: Identifier
  /** As recorded, also if that is a pseudonym. */
  readonly principal: string
  /** Its name and its key are unknown if the record has pseudonyms, and so are groups that are not recorded. No key is ''. */
  readonly caller: KnownCaller
  /** Undefined if the record has a pseudonym. */
  readonly clientAddress: string | undefined
  /** The decision that was recorded. */
  readonly before: DecisionReport
  /** Undefined if the log has none, as of reads and denials. */
  readonly facts: KnownFacts | undefined
  /** All further permissions that an allowed call required, with the facts of the entry of a batch. */
  readonly objects: readonly {
    readonly permission: Permission
    readonly id: Identifier
    readonly facts: KnownFacts | undefined
  }[]
  /** The permission that was denied, if it is on the object of the call. */
  readonly refused: Permission | undefined
}

export interface ReplayedCall extends Pick<RecordedCall, 'operation' | 'principal' | 'before'> {
  /** Undefined if it depends on unrecorded input. */
  readonly after?: DecisionReport
  /** If `after` is undefined: the inputs that the log lacks. */
  readonly missing?: readonly string[]
}

export interface ReplayedCalls extends ReplayedCall {
  readonly count: number
  readonly example: Pick<RecordedCall, 'time' | 'id' | 'request'>
}

/** Replays calls. Those with equal results are counted together, so that a long log needs little memory. */
export async function replayCalls(recorded: AsyncIterable<RecordedCall | undefined>, candidate: PolicySet) {
  const tallies = new Map<string, ReplayedCalls>()
  for await (const call of recorded) {
    if (call === undefined) continue
    const replayed = replayCall(call, candidate)
    const key = JSON.stringify(replayed)
    const { time, id, request } = call
    const { example = { time, id, request }, count = 0 } = tallies.get(key) ?? {}
    tallies.set(key, { count: count + 1, ...replayed, example })
  }
  const all = [...tallies.values()]
  const undecided = all.filter(({ after }) => after === undefined)
  const changed = all.filter(({ before, after }) => after && after.allowed !== before.allowed)
  const calls = countCalls(all)
  return { calls, unchanged: calls - countCalls(changed) - countCalls(undecided), changed, undecided }
}

export function countCalls(calls: readonly ReplayedCalls[]): number {
  return calls.reduce((sum, { count }) => sum + count, 0)
}

/** Decides a recorded call with the candidate policies. Unrecorded inputs are open, and never guessed. */
export function replayCall(call: RecordedCall, candidate: PolicySet): ReplayedCall {
  const { operation, principal, before, caller } = call
  const common = { operation, principal, before }
  const recorded = createRecordedInput(call)
  const decisions = listRequiredPermissions(call).map((required) =>
    decidePermission(candidate, { ...required, caller, input: { ...recorded, ...required.input } }),
  )
  const denial = decisions.find(({ after }) => after?.allowed === false)
  if (denial?.after !== undefined) return { ...common, after: denial.after }
  const missing = new Set(decisions.flatMap(({ missing = [] }) => missing))
  const definition = findOperation(operation)
  if (!before.allowed && definition !== undefined && mayRequireOtherObjects(definition))
    missing.add('which other permissions it required')
  if (missing.size > 0) return { ...common, missing: [...missing] }
  return { ...common, after: decisions[0]?.after ?? { allowed: true } }
}

/** A permission that a recorded call required. Facts that the log does not contain are pending. */
interface RequiredPermission extends Omit<PartialRequest, 'caller' | 'conditions'> {
  /** Whether the log does not show that it was required. */
  readonly isUncertain?: boolean
  /** Whether it was also required on all descendants. */
  readonly includesDescendants?: boolean
  /** Decides if no rule does: `entries`, or the inputs that the log lacks. Undefined if that is a denial. */
  readonly otherwise?: string | undefined
}

/** Lists the permissions that the call required as far as the log shows, that of its operation first. */
function listRequiredPermissions(call: RecordedCall): readonly RequiredPermission[] {
  const { operation: permission, id, before, objects, refused } = call
  const operation = findOperation(permission)
  if (operation === undefined) {
    const position = objectPosition(objectKindOfPermission(permission), id)
    return [{ permission, position, input: { id, operation: constantFacts(permission) } }]
  }
  const facts = call.facts ?? allPending(operation)
  const { entries, namesJob, lists } = operation
  const isByEntries = entries !== undefined || (namesJob && objects.length > 0)
  const isByOthers = namesJob ? 'the operation that started the job' : lists && 'what the listing may show'
  const own = { ...requireOwn(operation, id, facts), otherwise: isByEntries ? 'entries' : isByOthers }
  if (before.allowed) {
    const isOfOthers = entries !== undefined || namesJob
    const others = objects.map((object) =>
      isOfOthers && isOperationName(object.permission)
        ? requireOwn(getOperation(object.permission), object.id, object.facts)
        : requireBesides(operation, object.permission, object.id, facts),
    )
    return [own, ...others]
  }
  // Denied calls do not record other objects.
  const further = mayRequireOtherObjects(operation)
    ? []
    : getRequirements(operation).flatMap((one) => (one.isWithheld ? [] : [one.permission]))
  const possible = new Set<Permission>([refused ?? operation.name, ...further])
  possible.delete(operation.name)
  const others = [...possible].map((one) => ({
    ...requireBesides(operation, one, id, facts),
    isUncertain: one !== refused,
  }))
  return [own, ...others]
}

function requireOwn(
  operation: Operation,
  id: Identifier,
  facts: KnownFacts = allPending(operation),
): RequiredPermission {
  const { name, object } = operation
  const position = objectPosition(object, id)
  return { permission: name, position, input: { id, operation: operationFactsOf(operation, id, facts) } }
}

/** A permission that the operation does not require, as records of another release may name, has any facts. */
function requireBesides(
  operation: Operation,
  permission: Permission,
  id: Identifier,
  facts: KnownFacts,
): RequiredPermission {
  const requirement = getRequirements(operation).find((one) => one.permission === permission)
  const isElsewhere = requirement?.on === 'root' || typeof requirement?.on === 'object'
  const ofRequest = requirement && requirementFacts(requirement, operation, id, facts)
  return {
    permission,
    position: objectPosition(isElsewhere ? objectKindOfPermission(permission) : operation.object, id),
    input: { id, operation: ofRequest ?? constantFacts(permission) },
    includesDescendants: requirement?.on === 'beneath',
  }
}

function decidePermission(
  candidate: PolicySet,
  required: PartialRequest & RequiredPermission,
): Pick<ReplayedCall, 'after' | 'missing'> {
  const { permission, caller, otherwise, includesDescendants, isUncertain } = required
  const { kind: result, by, possible } = listSteps(candidate, required)
  if (result === 'open') return { missing: describeOpen(possible, caller) }
  if (result === 'denied' && by === undefined && otherwise !== undefined)
    return otherwise === 'entries' ? { after: { allowed: true } } : { missing: [otherwise] }
  if (result === 'denied' && isUncertain) return { missing: [`whether it also required ${permission}`] }
  if (result === 'allowed' && includesDescendants && hasPolicyBeneath(candidate, required.position))
    return { missing: ['what the policies beneath say'] }
  return { after: { allowed: result === 'allowed', ...(by && { rule: reportRule(by) }) } }
}

/** Whether policies beneath, or rules for some tables, can decide differently than for the namespace itself. */
function hasPolicyBeneath({ documents }: PolicySet, { namespace }: ObjectPosition): boolean {
  return documents.some(
    (one) =>
      isWithin(one.namespace, namespace) &&
      (one.namespace.length > namespace.length || one.rules.some(({ tables }) => tables !== undefined)),
  )
}

/** The recorded input of conditions, besides that of a permission. The request has the time of its record. */
function createRecordedInput({ clientAddress, time, caller }: RecordedCall): ConditionInput {
  const { isAnonymous, user, key, groups, excludedGroups } = caller
  // Token claims are not recorded; an API key has none.
  const isKnown = key !== '' && excludedGroups === 'all' && user !== undefined
  const ofKey = isKnown ? ({ name: user, method: 'api-key', credentialId: '', groups } as const) : undefined
  const principal = isAnonymous ? anonymousPrincipal : ofKey
  return { principal, request: { clientAddress, now: new Date(time) } }
}

/** Describes the inputs on which the rules depend and that the log lacks. */
function describeOpen(rules: readonly Step[], caller: KnownCaller): readonly string[] {
  const { users, keys, groups } = listOpenNames(rules)
  const whichGroups = caller.groups.size > 0 ? 'all groups' : 'the groups'
  return [
    ...(users.length + keys.length > 0 ? ['the name of the caller'] : []),
    ...(groups.length > 0 ? [`${whichGroups} of the caller`] : []),
    ...rules.flatMap(({ condition }) => (condition === undefined ? [] : [`whether ${condition.text}`])),
  ]
}
