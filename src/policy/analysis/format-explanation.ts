import { formatIdentifierText, type Identifier, type Permission } from '../../catalog-api/index.ts'
import { alignColumns, formatCount } from '../../lib/index.ts'
import type { Decision } from '../engine/decision.ts'
import type { ConditionResult } from '../engine/evaluate.ts'
import type { Explanation } from './explain.ts'
import {
  formatAnswer,
  formatColumns,
  formatCondition,
  formatConditionResult,
  formatPolicySubjects,
} from './format-policy.ts'
import { formatRule } from './steps.ts'

type Level = Explanation['levels'][number]
type Rule = Level['rules'][number]

/** Another permission that a request requires, and the decision about it. */
interface Requirement {
  readonly permission: Permission
  readonly id: Identifier
  readonly includesSubtree: boolean
  readonly requiredBy: string | undefined
  readonly decision: Decision
}

/** Formats an explanation as lines: the decision, its grounds and facts, and each rule with what becomes of it. */
export function formatExplanation(
  title: string,
  report: Explanation,
  requires: readonly Requirement[] = [],
): readonly string[] {
  const { decision, isByVisibility, status, message, contact, restriction } = report
  const { facts, tags, levels } = report
  const { allowed, rule } = decision
  // That of the levels says why it covers the operation.
  const deciding = levels
    .flatMap(({ rules }) => rules)
    .find((one) => one.policy === rule?.policy && one.rule === rule.rule)
  const by = rule === undefined ? 'no rule allows it' : `by ${formatRule(deciding ?? rule)}`
  const grounds = Object.entries({ message, contact }).filter(([, text]) => text !== undefined)
  const response = status === 404 ? 'response 404, as if it did not exist' : `response ${status}`
  return [
    `${allowed ? 'allowed' : 'denied'}  ${title}`,
    `  ${isByVisibility ? 'no rule allows it itself, but it shows what is visible beneath, ' : ''}${by}`,
    ...(allowed ? [] : [`  ${response}`]),
    ...grounds.map(([what, text]) => `    ${what}  ${text}`),
    ...(restriction === undefined
      ? []
      : [
          `  restricted by ${restriction.rules.map(formatRule).join(' and ')}`,
          `    columns  ${formatColumns(restriction.columns)}`,
          `    rows     ${restriction.rows ?? 'all'}`,
        ]),
    ...requires.map(formatRequired),
    `  facts  ${facts.map(formatFact).join(', ') || 'none'}`,
    ...(tags === '' ? [] : [`  tags   ${tags}`]),
    ...(levels.length === 0
      ? ['no policy applies to this object or its parents']
      : levels.flatMap(formatLevel)),
  ]
}

function formatRequired(required: Requirement): string {
  const { permission, id, includesSubtree, requiredBy, decision } = required
  const object = `${includesSubtree ? 'everything beneath ' : ''}${formatIdentifierText(id)}`
  return `  also requires ${permission} on ${object} (${requiredBy}): ${formatAnswer(decision)}`
}

function formatFact(fact: Explanation['facts'][number]): string {
  return `${fact.name}: ${'value' in fact ? JSON.stringify(fact.value) : `unknown (${fact.unknown})`}`
}

function formatLevel({ namespace, isBoundary, isReserving, rules, otherRules }: Level): readonly string[] {
  const notes = [
    ...(isBoundary ? ['inherit: false, so rules of parents do not allow anything here'] : []),
    ...(isReserving ? ['final, so no child policy can allow this'] : []),
  ]
  return [
    `\n${formatIdentifierText(namespace)}${notes.length === 0 ? '' : `  (${notes.join('; ')})`}`,
    ...alignColumns(rules.map((rule) => [`  ${rule.effect}`, formatRule(rule), formatVerdict(rule)])),
    ...(otherRules > 0 ? [`  ${formatCount(otherRules, 'rule')} about other operations`] : []),
  ]
}

function formatVerdict(rule: Rule): string {
  const { verdict, effect, subjects, tables = [], condition, reason } = rule
  const formatResult = (result: ConditionResult): string =>
    condition === undefined ? '' : `: ${formatConditionResult(condition, result)}`
  const applies = `applies${formatResult('true')}`
  const texts: Readonly<Record<Rule['verdict'], string>> = {
    allows: applies,
    denies: applies,
    'other-caller': `other subjects: ${formatPolicySubjects(subjects)}`,
    'other-table': `other tables: ${tables.join(', ')}`,
    stopped: 'blocked by inherit: false beneath',
    reserved: 'blocked by final above',
    false: `does not apply${formatResult('false')}`,
    failed: `${effect === 'deny' ? 'applies' : 'does not apply'}: evaluation failed (${reason}): ${formatCondition(condition ?? '')}`,
    open: 'may apply',
  }
  return texts[verdict]
}
