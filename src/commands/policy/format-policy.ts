import { printJson, printLine, type Io } from '../common/io.ts'
import type { Condition } from '../../policy/conditions/condition.ts'
import type { RuleReference } from '../../policy/engine/decision.ts'
import { qualifiedRuleName } from '../../policy/testing/decision-test.ts'
import { describeImplication } from '../../policy/language/deny-coverage.ts'
import type { ConditionResult } from '../../policy/engine/evaluation.ts'
import type { NamedSubjects, Subjects } from '../../policy/language/policy-document.ts'
import { printFilterAsWritten } from '../../policy/restrictions/print-filter.ts'
import type { TableRestriction, VisibleColumns } from '../../policy/restrictions/restriction.ts'
import { createRuleReference, type LocatedRule } from '../../policy/engine/compiled-rule.ts'
import type { RuleAbout } from '../../policy/engine/evaluate.ts'
import type { ReachingRestriction } from '../../policy/analysis/reaching-restrictions.ts'
import { anySubject, listSubjects, type Subject } from '../../policy/engine/subject.ts'

/** `team-sales/owner-drops (team.yaml:18)`, with the end of the rule if it has one. */
export function formatRuleReference(rule: RuleReference): string {
  const end = rule.until === undefined ? '' : `, until ${rule.until}`
  return `${qualifiedRuleName(rule)} (${rule.file}:${rule.line})${end}`
}

/** The same, with the reason why the rule covers an operation that it does not name. */
export function formatReachingRule(reaching: LocatedRule & Partial<RuleAbout>): string {
  const reason =
    reaching.rule.restriction === undefined
      ? describeImplication(reaching.implication)
      : ', which leaves only reading a part of its tables'
  return formatRuleReference(createRuleReference(reaching)) + reason
}

/** `allowed by` the rule; `denied, as no rule allows it`. */
export function formatDecided(isAllowed: boolean, by: string | undefined): string {
  const word = isAllowed ? 'allowed' : 'denied'
  return by === undefined ? `${word}, as no rule allows it` : `${word} by ${by}`
}

/** `group analysts`, `every caller`, `callers without a credential`. */
export function formatPolicySubject({ kind, name }: Subject): string {
  if (kind === 'anonymous') return 'callers without a credential'
  return kind === 'any' ? 'every caller' : `${kind} ${name}`
}

/** `user al, group ops`. */
export function formatNamedSubjects(names: NamedSubjects): string {
  return listSubjects(names).map(formatPolicySubject).join(', ')
}

/** `every caller except group ops`; `everyone` with callers without a credential. */
export function formatPolicySubjects(subjects: Subjects): string {
  const { any, anonymous } = subjects
  // Every caller includes the other subjects, except callers without a credential.
  const named = any ? [anySubject] : listSubjects(subjects)
  const text = any && anonymous ? 'everyone' : named.map(formatPolicySubject).join(', ')
  return subjects.except === undefined ? text : `${text} except ${formatNamedSubjects(subjects.except)}`
}

/** `id number, name text`; `none` if no column remains. */
export function formatColumns(columns: VisibleColumns): string {
  return columns.size === 0 ? 'none' : [...columns].map((column) => column.join(' ')).join(', ')
}

/** The condition on rows as the policy has it; `all` if there is none. */
function formatRows({ rows }: TableRestriction): string {
  return rows === undefined ? 'all' : printFilterAsWritten(rows)
}

/** What a restriction leaves of a table. `scope` continues its name. */
export function formatRestrictedBy(reaching: ReachingRestriction, scope = ''): string {
  const { restriction } = reaching
  const reference = formatRuleReference(createRuleReference(reaching))
  return `restricted by ${reference}${scope}: columns ${formatColumns(restriction.columns)}; rows ${formatRows(restriction)}`
}

/** A condition on one line; of a requirement, that the request fails it. */
export function formatCondition(text: string): string {
  return isRequirement(text) ? `it fails the requirement ${onOneLine(text)}` : onOneLine(text)
}

/** `if` and the condition; nothing without one. */
export function formatIf(condition: Condition | undefined): readonly string[] {
  return condition === undefined ? [] : [`if ${formatCondition(condition.text)}`]
}

/** `unless denied: user eve if now > then  by sales/no-dev (sales.yaml:7)`. */
export function formatUnless(
  what: readonly string[],
  condition: Condition | undefined,
  deny: LocatedRule & Partial<RuleAbout>,
): string {
  return `${['unless denied:', ...what, ...formatIf(condition)].join(' ')}  by ${formatReachingRule(deny)}`
}

/** `branch == "main" is false`; of a requirement, whether the request fails or meets it. */
export function formatConditionResult(text: string, result: ConditionResult): string {
  const line = onOneLine(text)
  if (result === 'failed') return `the evaluation fails: ${line}`
  if (!isRequirement(text)) return `${line} is ${result}`
  return `it ${result === 'true' ? 'fails' : 'meets'} the requirement ${line}`
}

function isRequirement(condition: string): boolean {
  return condition.startsWith('{"')
}

function onOneLine(condition: string): string {
  return condition.replaceAll(/\s+/g, ' ').trim()
}

interface PrintedGrant {
  readonly what: string
  readonly rule: LocatedRule
  readonly limits: readonly string[]
}

/** Lines about what rules allow, each with its conditions and limits beneath. */
export function formatGrants(grants: readonly PrintedGrant[], indent = '  '): readonly string[] {
  const rows = grants.map(({ what, rule }) => [`${indent}${what}`, `by ${formatReachingRule(rule)}`])
  return alignColumns(rows).flatMap((line, index) => [
    line,
    ...(grants[index]?.limits ?? []).map((limit) => `${indent}  ${limit}`),
  ])
}

/** Prints a report as JSON, or else its lines. */
export function printReport(io: Io, json: true | undefined, report: unknown, lines: readonly string[]): void {
  if (json) printJson(io, report)
  else for (const line of lines) printLine(io, line)
}

/** Aligns columns, two spaces apart; the last column is not padded. */
export function alignColumns(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = (rows[0] ?? []).map((_, index) => Math.max(...rows.map((row) => row[index]?.length ?? 0)))
  return rows.map((row) =>
    row
      .map((text, index) => text.padEnd(widths[index] ?? 0))
      .join('  ')
      .trimEnd(),
  )
}
