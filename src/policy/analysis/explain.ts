import {
  formatIdentifierText,
  getOperation,
  type Identifier,
  isOperationName,
  type Permission,
} from '../../catalog-api/index.ts'
import { alignColumns, groupBy } from '../../lib/index.ts'
import { conditionFacts, type AuthorizationRequest } from '../conditions/authorization-request.ts'
import { describeConditionError } from '../conditions/condition.ts'
import { factsAvailableFor } from '../conditions/permission-facts.ts'
import type { Decision } from '../engine/decision.ts'
import type { ConditionResult, Step } from '../engine/evaluate.ts'
import { namespaceKey, objectPosition } from '../engine/object-position.ts'
import { knownFromPrincipal } from '../engine/subject.ts'
import type { PolicySet } from '../policy-set.ts'
import { formatTags } from '../tags/object-tags.ts'
import { describeDenial } from '../visibility/concealment.ts'
import { decideListing } from '../visibility/visibility.ts'
import {
  formatDecision,
  formatColumns,
  formatCondition,
  formatConditionResult,
  formatPolicySubjects,
} from './format-policy.ts'
import { formatRule, listSteps, reportRule } from './steps.ts'

/** Another permission that a request requires, and the decision about it. */
interface Requirement {
  readonly permission: Permission
  readonly id: Identifier
  readonly includesSubtree: boolean
  readonly requiredBy: string | undefined
  readonly decision: Decision
}

/** Returns the decision about a request with its grounds; the lines also state the outcome of each rule about the operation. */
export function explain(
  set: PolicySet,
  request: AuthorizationRequest,
  requires: readonly Requirement[] = [],
) {
  const { permission, kind, id, principal } = request
  const { decision, byVisibility } = decideListing(set, request)
  const { allowed, rule } = decision
  const restriction = allowed ? set.findRestriction(request) : undefined
  const { status, ...grounds } = allowed ? {} : describeDenial(set, request, decision)
  const report = {
    decision,
    ...(byVisibility && { isByVisibility: true }),
    /** Of the response to a denial; a 404 is that for an object that does not exist. */
    status,
    ...grounds,
    /** The visible part of the table; `rows` as they are sent to the engine. */
    restriction: restriction && {
      columns: Object.fromEntries(restriction.columns),
      rows: restriction.rows,
      rules: restriction.parts.map((part) => part.rule),
    },
    facts: listDecidedFacts(request),
    requires,
  }
  const position = objectPosition(kind, id)
  const tags = formatTags(set.findTags(position))
  const partial = { permission, position, caller: knownFromPrincipal(principal), input: request }
  const { rules } = listSteps(set, partial)
  const facts = report.facts.map(
    (one) => `${one.name}: ${'value' in one ? JSON.stringify(one.value) : `unknown (${one.unknown})`}`,
  )
  const levels = formatLevels(set, request, rules)
  // That of the steps says why it covers the operation.
  const deciding = rules.find((step) => step.document.name === rule?.policy && step.rule.id === rule.rule)
  const by =
    rule === undefined ? 'no rule allows it' : `by ${formatRule(deciding ? reportRule(deciding) : rule)}`
  const title = `${principal.name}: ${permission} on ${formatIdentifierText(id)}`
  const lines = [
    `${allowed ? 'allowed' : 'denied'}  ${title}`,
    `  ${byVisibility ? 'no rule allows it itself, but it shows what is visible beneath, ' : ''}${by}`,
    ...(allowed ? [] : [`  response ${status === 404 ? '404, as if it did not exist' : status}`]),
    ...Object.entries(grounds).flatMap(([what, text]) =>
      text === undefined ? [] : [`    ${what}  ${text}`],
    ),
    ...(report.restriction === undefined
      ? []
      : [
          `  restricted by ${report.restriction.rules.map(formatRule).join(' and ')}`,
          `    columns  ${formatColumns(report.restriction.columns)}`,
          `    rows     ${report.restriction.rows ?? 'all'}`,
        ]),
    ...requires.map(({ permission, id, includesSubtree, requiredBy, decision }) => {
      const object = `${includesSubtree ? 'everything beneath ' : ''}${formatIdentifierText(id)}`
      return `  also requires ${permission} on ${object} (${requiredBy}): ${formatDecision(decision)}`
    }),
    `  facts  ${facts.join(', ') || 'none'}`,
    ...(tags === '' ? [] : [`  tags   ${tags}`]),
    ...(levels.length === 0 ? ['no policy applies to this object or its parents'] : levels),
  ]
  return { title, report, lines }
}

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

function formatLevels(
  set: PolicySet,
  { permission, kind, id }: AuthorizationRequest,
  rules: readonly Step[],
): readonly string[] {
  const above = set.documentsAbove(objectPosition(kind, id).namespace)
  const levels = groupBy(above, ({ namespace }) => namespaceKey(namespace))
  return [...levels].flatMap(([level, documents]) => {
    const own = rules.filter(({ document }) => namespaceKey(document.namespace) === level)
    const isBoundary = documents.some(({ inherit }) => !inherit)
    const isReserving = documents.some(({ final }) => final.has(permission))
    const notes = [
      ...(isBoundary ? ['inherit: false, so rules of parents do not allow anything here'] : []),
      ...(isReserving ? ['final, so no child policy can allow this'] : []),
    ]
    const namespace = formatIdentifierText(documents[0]?.namespace ?? [])
    return [
      `\n${namespace}${notes.length === 0 ? '' : `  (${notes.join('; ')})`}`,
      ...alignColumns(
        own.map((step) => [`  ${step.rule.effect}`, formatRule(reportRule(step)), formatOutcome(step)]),
      ),
    ]
  })
}

function formatOutcome({ outcome, error, rule }: Step): string {
  const { effect, subjects, tables = [], condition } = rule
  const formatResult = (result: ConditionResult): string =>
    condition === undefined ? '' : `: ${formatConditionResult(condition.text, result)}`
  const texts: Readonly<Record<Step['outcome'], string>> = {
    applies: `applies${formatResult('true')}`,
    'other-caller': `other subjects: ${formatPolicySubjects(subjects)}`,
    'other-table': `other tables: ${tables.join(', ')}`,
    stopped: 'blocked by inherit: false beneath',
    reserved: 'blocked by final above',
    false: `does not apply${formatResult('false')}`,
    failed: `${effect === 'deny' ? 'applies' : 'does not apply'}: evaluation failed (${describeConditionError(error)}): ${formatCondition(condition?.text ?? '')}`,
    open: 'may apply',
  }
  return texts[outcome]
}
