import { getOperation, isOperationName, type Permission } from '../../catalog-api/index.ts'
import { groupBy } from '../../lib/index.ts'
import { conditionFacts, type AuthorizationRequest } from '../conditions/authorization-request.ts'
import { describeConditionError } from '../conditions/condition-errors.ts'
import { factsAvailableFor } from '../conditions/permission-facts.ts'
import type { Step } from '../engine/evaluate.ts'
import { namespaceKey, objectPosition } from '../engine/object-position.ts'
import { knownFromPrincipal } from '../engine/subject.ts'
import type { PolicySet } from '../policy-set.ts'
import { formatTags } from '../tags/object-tags.ts'
import { findContact, findGrounds, getDenialStatus } from '../visibility/concealment.ts'
import { decideListing } from '../visibility/visibility.ts'
import { listSteps, reportRule } from './steps.ts'

export type Explanation = ReturnType<typeof explain>

/** Returns the decision about a request, what it is based on, and what becomes of each rule about the operation. */
export function explain(set: PolicySet, request: AuthorizationRequest) {
  const { decision, byVisibility } = decideListing(set, request)
  const restriction = decision.allowed ? set.findRestriction(request) : undefined
  const status = decision.allowed ? undefined : getDenialStatus(set, request)
  const isReadable = status === 403
  return {
    decision,
    ...(byVisibility && { isByVisibility: true }),
    /** Of the response to a denial; a 404 is that for an object that does not exist. */
    status,
    message: isReadable ? findGrounds(set, request, decision).message : undefined,
    contact: isReadable ? findContact(set, request, decision) : undefined,
    /** What is left of the table; `rows` as they are sent to the engine. */
    restriction: restriction && {
      columns: Object.fromEntries(restriction.columns),
      rows: restriction.rows,
      rules: restriction.parts.map(({ rule }) => rule),
    },
    facts: listDecidedFacts(request),
    tags: formatTags(set.findTags(objectPosition(request.kind, request.id))),
    levels: explainRules(set, request),
  }
}

/** Each with its value, or with the reason why it is unknown. */
function listDecidedFacts({ permission, operation }: AuthorizationRequest) {
  const available = factsAvailableFor(permission)
  return conditionFacts
    .filter((name) => available.has(name))
    .map((name) => {
      const fact = operation[name]
      if (typeof fact !== 'symbol')
        return { name, value: fact instanceof Map ? Object.fromEntries(fact) : fact }
      return {
        name,
        unknown: name === 'branch' ? describeUnknownBranch(permission) : 'not stated by requests',
      }
    })
}

function describeUnknownBranch(permission: Permission): string {
  const { effect, unknownBranch } = isOperationName(permission) ? getOperation(permission) : {}
  if (effect !== 'read') return 'every branch'
  return unknownBranch === 'tag' ? 'that of the tag' : 'any branch'
}

/** Returns what becomes of each rule about the request, by the namespaces with policies from the root to the object. */
export function explainRules(set: PolicySet, request: AuthorizationRequest) {
  const { permission, kind, id, principal } = request
  const position = objectPosition(kind, id)
  const question = { permission, position, caller: knownFromPrincipal(principal), input: request }
  const { rules } = listSteps(set, question)
  const levels = groupBy(set.documentsAbove(position.namespace), ({ namespace }) => namespaceKey(namespace))
  const ofLevels = groupBy(rules, ({ document }) => namespaceKey(document.namespace))
  return [...levels].map(([level, documents]) => {
    const own = ofLevels.get(level) ?? []
    return {
      namespace: documents[0]?.namespace ?? [],
      /** Whether it does not inherit allows from above. */
      isBoundary: documents.some(({ inherit }) => !inherit),
      /** Whether it reserves the permission (`final`). */
      isReserving: documents.some(({ final }) => final.has(permission)),
      rules: own.map(explainRule),
      otherRules: documents.reduce((sum, { rules }) => sum + rules.length, 0) - own.length,
    }
  })
}

function explainRule(step: Step) {
  const { outcome, error } = step
  const { effect, subjects, tables, condition } = step.rule
  return {
    ...reportRule(step),
    effect,
    subjects,
    tables,
    /** Of a rule that applies, its effect. */
    verdict: outcome !== 'applies' ? outcome : effect === 'deny' ? ('denies' as const) : ('allows' as const),
    condition: condition?.text,
    /** Why the condition failed. */
    ...(outcome === 'failed' && { reason: describeConditionError(error) }),
  }
}
