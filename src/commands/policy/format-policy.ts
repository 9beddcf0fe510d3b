import { printJson, printLine, type Io } from '../common/io.ts'
import type { ReportedRule } from '../../policy/analysis/steps.ts'
import { qualifiedRuleName } from '../../policy/testing/decision-test.ts'
import { describeImplication } from '../../policy/language/policy-vocabulary.ts'
import type { ConditionResult } from '../../policy/engine/evaluate.ts'
import type { NamedSubjects, Subjects } from '../../policy/language/policy-document.ts'
import type { RestrictionReport } from '../../policy/restrictions/restriction.ts'
import { anySubject, listSubjects, type Subject } from '../../policy/engine/subject.ts'

/** `team-sales/owner-drops (team.yaml:18)`, with the end of the rule if it has one, and why it covers an operation that it does not name. */
export function formatRule(rule: ReportedRule): string {
  const { implication } = rule
  const end = rule.until === undefined ? '' : `, until ${rule.until}`
  const reason =
    implication === 'restriction'
      ? ', which leaves only reading a part of its tables'
      : describeImplication(implication)
  return `${qualifiedRuleName(rule)} (${rule.file}:${rule.line})${end}${reason}`
}

/** `allowed by` the rule; `denied, as no rule allows it`. */
export function formatDecided({
  allowed,
  rule,
}: {
  allowed: boolean
  rule?: ReportedRule | undefined
}): string {
  const word = allowed ? 'allowed' : 'denied'
  return rule === undefined ? `${word}, as no rule allows it` : `${word} by ${formatRule(rule)}`
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
export function formatColumns(columns: RestrictionReport['columns']): string {
  const named = Object.entries(columns)
  return named.length === 0 ? 'none' : named.map((column) => column.join(' ')).join(', ')
}

/** What a restriction leaves of a table. `scope` continues its name. */
export function formatRestriction({ rule, columns, rows = 'all' }: RestrictionReport, scope = ''): string {
  return `restricted by ${formatRule(rule)}${scope}: columns ${formatColumns(columns)}; rows ${rows}`
}

/** A condition on one line; of a requirement, that the request fails it. */
export function formatCondition(text: string): string {
  return isRequirement(text) ? `it fails the requirement ${onOneLine(text)}` : onOneLine(text)
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

interface ConditionalRule {
  readonly rule: ReportedRule
  readonly if?: string
}

/** What a rule allows, or whom. */
interface PrintedGrant extends ConditionalRule {
  readonly what: string
  /** Lines beneath it, after that of the condition. */
  readonly limits: readonly string[]
  /** Rules that deny some of it, with what they deny, or whom. */
  readonly unless: readonly (ConditionalRule & { readonly what: string })[]
}

/** Lines about what rules allow, each with its conditions and limits beneath. */
export function formatGrants(grants: readonly PrintedGrant[], indent = '  '): readonly string[] {
  const rows = grants.map(({ what, rule }) => [`${indent}${what}`, `by ${formatRule(rule)}`])
  return alignColumns(rows).flatMap((line, index) => [
    line,
    ...grants
      .slice(index, index + 1)
      .flatMap(listLimits)
      .map((limit) => `${indent}  ${limit}`),
  ])
}

function listLimits({ limits, unless, ...grant }: PrintedGrant): readonly string[] {
  const denies = unless.map((deny) => {
    const words = ['unless denied:', ...(deny.what === '' ? [] : [deny.what]), ...formatIf(deny)]
    return `${words.join(' ')}  by ${formatRule(deny.rule)}`
  })
  return [...formatIf(grant), ...limits, ...denies]
}

function formatIf({ if: condition }: ConditionalRule): readonly string[] {
  return condition === undefined ? [] : [`if ${formatCondition(condition)}`]
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
