import { alignColumns } from '../../lib/index.ts'
import type { ConditionResult } from '../engine/evaluate.ts'
import { anySubject, listSubjects, type Subject } from '../engine/subject.ts'
import type { NamedSubjects, Subjects } from '../language/policy-document.ts'
import { describePermissionSet } from '../language/policy-vocabulary.ts'
import type { RestrictionReport } from '../restrictions/restriction.ts'
import type { DecisionReport } from './diff-policies.ts'
import type { Grant, Scope, VisiblePart } from './grants.ts'
import { formatRule } from './steps.ts'

/** `allowed by` the rule, and the part that restrictions leave; `denied, as no rule allows it`. */
export function formatDecision({ allowed, rule, restriction }: DecisionReport): string {
  const word = allowed ? 'allowed' : 'denied'
  const decided = rule === undefined ? `${word}, as no rule allows it` : `${word} by ${formatRule(rule)}`
  if (restriction === undefined) return decided
  const { columns, rows, rules } = restriction
  const by = rules.map(formatRule).join(' and ')
  return `${decided}, restricted by ${by}: ${formatPart(columns, rows.join(' AND '))}`
}

/** `group analysts`, `every caller`, `callers without a credential`. */
export function formatPolicySubject({ kind, name }: Subject): string {
  if (kind === 'anonymous') return 'callers without a credential'
  return kind === 'any' ? 'every caller' : `${kind} ${name}`
}

/** `user al, group ops`, `every caller except group ops`; `everyone` with callers without a credential. */
export function formatPolicySubjects(subjects: NamedSubjects & Partial<Subjects>): string {
  const { any, anonymous, except } = subjects
  // Every caller includes the other subjects, except callers without a credential.
  const named = any ? [anySubject] : listSubjects(subjects)
  const text = any && anonymous ? 'everyone' : named.map(formatPolicySubject).join(', ')
  return except === undefined ? text : `${text} except ${formatPolicySubjects(except)}`
}

/** `id number, name text`; `none` if no column remains. */
export function formatColumns(columns: RestrictionReport['columns']): string {
  const named = Object.entries(columns)
  return named.length === 0 ? 'none' : named.map((column) => column.join(' ')).join(', ')
}

/** The part that a caller sees of a table, perhaps with tagged columns: these, the table without them, or nothing. */
export function formatVisible(part: VisiblePart, tagged: readonly string[] = []): string {
  const names = tagged.join(', ')
  if (part === 'all') return names === '' ? 'the whole table' : names
  if (part === 'part') return names === '' ? 'a part of the table' : `the table without ${names}`
  return 'nothing'
}

/** `columns id number, name text; rows all`: the part of a table that restrictions leave. */
export function formatPart(columns: RestrictionReport['columns'], rows: string | undefined): string {
  return `columns ${formatColumns(columns)}; rows ${rows || 'all'}`
}

export function formatCondition(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim()
  return isRequirement(line) ? `it fails the requirement ${line}` : line
}

/** `branch == "main" is false`; of a requirement, whether the request fails or meets it. */
export function formatConditionResult(text: string, result: ConditionResult): string {
  const condition = formatCondition(text)
  if (result === 'failed') return `the evaluation fails: ${condition}`
  if (!isRequirement(text)) return `${condition} is ${result}`
  return result === 'true' ? condition : condition.replace('fails', 'meets')
}

function isRequirement(condition: string): boolean {
  return condition.startsWith('{"')
}

export function formatGrants(grants: readonly Grant[], indent = '  '): readonly string[] {
  const titles = alignColumns(
    grants.map((grant) => [`${indent}${formatAffected(grant)}`, `by ${formatRule(grant.rule)}`]),
  )
  return grants.flatMap((grant, index) => [
    titles[index] ?? '',
    ...listLimits(grant).map((limit) => `${indent}  ${limit}`),
  ])
}

function listLimits({ except, restrictedBy = [], unless, ...grant }: Grant): readonly string[] {
  return [
    ...formatIf(grant),
    ...(except === undefined ? [] : [`except ${formatPolicySubjects(except)}`]),
    ...restrictedBy.map(
      ({ rule, columns, rows, ...scope }) =>
        `restricted by ${formatRule(rule)}${formatScope(scope)}: ${formatPart(columns, rows)}`,
    ),
    ...unless.map((deny) => {
      const words = ['unless denied:', formatAffected(deny), ...formatIf(deny)]
      return `${words.filter((word) => word !== '').join(' ')}  by ${formatRule(deny.rule)}`
    }),
  ]
}

/** The callers or operations that a rule is about; empty for all. */
function formatAffected({ subject, subjects, operations, ...scope }: Partial<Grant>): string {
  if (operations !== undefined) return describePermissionSet(new Set(operations)) + formatScope(scope)
  if (subject !== undefined) return formatPolicySubject(subject)
  return subjects === undefined ? '' : formatPolicySubjects(subjects)
}

/** Which of the callers or tables that a grant is about a rule affects. */
function formatScope({ subjects, except, tables, exceptTables = [] }: Scope): string {
  if (subjects !== undefined) return ` if also ${formatPolicySubjects(subjects)}`
  if (except !== undefined) return ` unless also ${formatPolicySubjects(except)}`
  const others = exceptTables.length === 0 ? '' : ` except ${exceptTables.join(', ')}`
  return tables === undefined ? '' : ` on the tables ${tables.join(', ')}${others} in this namespace`
}

function formatIf({ if: condition }: Pick<Grant, 'if'>): readonly string[] {
  return condition === undefined ? [] : [`if ${formatCondition(condition)}`]
}
