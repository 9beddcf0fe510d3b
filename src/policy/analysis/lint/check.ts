import type { PolicyDocument, PolicyRule } from '../../language/policy-document.ts'
import { isWithin, type Permission } from '../../../catalog-api/index.ts'
import { groupBy } from '../../../lib/index.ts'
import type { LocatedRule } from '../../engine/compiled-rule.ts'
import { anySubject, knownAsOnly, listSubjects, matchSubjects, type Subject } from '../../engine/subject.ts'
import type { PolicySet } from '../../policy-set.ts'
import { listRules } from '../steps.ts'

/** Severity. `error`: a rule that can never decide. `warning`: probably a mistake. `info`: worth a review. `accepted`: intended. */
type FindingLevel = 'error' | 'warning' | 'info' | 'accepted'

/** A valid part of the policies that is probably not intended. */
export interface Finding {
  readonly level: FindingLevel
  readonly check: string
  readonly file: string
  readonly line: number
  readonly column?: number
  /** The policy and the rule that the finding is about. */
  readonly policy?: string
  readonly rule?: string
  readonly message: string
}

export type RuleOrDocument = Pick<LocatedRule, 'document'> & Partial<LocatedRule>

/** A result of a check of a rule or a document. The message continues its name. */
export type Remark = readonly [level: FindingLevel, check: string, message: string]

export function warn(check: string, ...messages: readonly string[]): readonly Remark[] {
  return messages.map((message) => ['warning', check, message])
}

export function note(check: string, ...messages: readonly string[]): readonly Remark[] {
  return messages.map((message) => ['info', check, message])
}

export type Check<About extends RuleOrDocument = LocatedRule> = (about: About) => readonly Remark[]

export function createFinding({ document, rule }: RuleOrDocument, [level, check, message]: Remark): Finding {
  const { name, file } = document
  const { line, column } = rule ?? document
  const subject = rule === undefined ? name : `${name}/${rule.id}`
  const about = { level, check, file, line, column, policy: name, ...(rule && { rule: rule.id }) }
  return { ...about, message: `${subject} ${message}` }
}

/** Returns the findings, with level `accepted` and the reason if a comment accepts them. */
export function acceptFindings(
  findings: readonly Finding[],
  documents: readonly PolicyDocument[],
): readonly Finding[] {
  const ofFiles = new Map(documents.map(({ file, accepted }) => [file, accepted]))
  return findings.map((finding) => {
    const reason = ofFiles.get(finding.file)?.get(`${finding.line} ${finding.check}`)
    if (reason === undefined) return finding
    return { ...finding, level: 'accepted', message: `${finding.message}; accepted: ${reason}` }
  })
}

export type RuleIndex = ReturnType<typeof createRuleIndex>

/** The rules of a set, by the callers that they name. */
export function createRuleIndex(set: PolicySet) {
  const rules = listRules(set.documents)
  const naming = groupBy(
    rules.flatMap((own) => listSubjects(own.rule.subjects).map((subject) => ({ own, subject }))),
    ({ own, subject }) => subjectKey(own.rule, subject),
  )
  const allow = { effect: 'allow' } as const
  return {
    set,
    rules,
    allows: rules.filter(({ rule }) => rule.effect === 'allow'),
    /** Returns the allows that name a caller that is the subject and nothing else. */
    listGrants: (caller: Subject): readonly LocatedRule[] => {
      const keys = new Set([subjectKey(allow, caller), subjectKey(allow, anySubject)])
      const named = [...keys].flatMap((key) => naming.get(key) ?? []).map(({ own }) => own)
      return named.filter(({ rule }) => isNamed(rule, caller))
    },
    /** Whether no other rule of its effect names one of the subjects of the rule. */
    isNamedAlone: (rule: PolicyRule): boolean =>
      !naming.has(subjectKey(rule, anySubject)) &&
      listSubjects(rule.subjects).some((subject) => naming.get(subjectKey(rule, subject))?.length === 1),
  }
}

function subjectKey({ effect }: Pick<PolicyRule, 'effect'>, { kind, name }: Subject): string {
  return `${effect} ${kind} ${name}`
}

/** Whether the rule names a caller that is the subject and nothing else. */
export function isNamed({ subjects }: PolicyRule, caller: Subject): boolean {
  return matchSubjects(subjects, knownAsOnly(caller)) === true
}

/** Whether a grant is of one of the permissions, where the rule reaches or above. */
export function isReached(
  { document: { namespace }, rule }: LocatedRule,
  { document, rule: { permissions } }: LocatedRule,
  wanted: readonly Permission[],
): boolean {
  const isThere =
    isWithin(namespace, document.namespace) ||
    (rule.tables === undefined && isWithin(document.namespace, namespace))
  return isThere && wanted.some((permission) => permissions.has(permission))
}
