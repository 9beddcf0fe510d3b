import { isWithin, type Permission } from '../../../catalog-api/index.ts'
import { groupBy } from '../../../lib/index.ts'
import type { Condition } from '../../conditions/condition.ts'
import type { LocatedRule } from '../../engine/compiled-rule.ts'
import { anySubject, knownAsOnly, listSubjects, matchSubjects, type Subject } from '../../engine/subject.ts'
import type { PolicyRule } from '../../language/policy-document.ts'
import type { PolicySet } from '../../policy-set.ts'
import { listRules } from '../steps.ts'

/** The rules of a set, by the callers that they name. */
export interface RuleIndex {
  readonly set: PolicySet
  readonly rules: readonly LocatedRule[]
  readonly allows: readonly LocatedRule[]
  /** Returns the allows that name a caller that is the subject and nothing else. */
  readonly listGrants: (caller: Subject) => readonly LocatedRule[]
  /** Whether no other rule of its effect names one of the subjects of the rule. */
  readonly isNamedAlone: (rule: PolicyRule) => boolean
}

export function createRuleIndex(set: PolicySet): RuleIndex {
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
    listGrants(caller) {
      const keys = new Set([subjectKey(allow, caller), subjectKey(allow, anySubject)])
      const named = [...keys].flatMap((key) => naming.get(key) ?? []).map(({ own }) => own)
      return named.filter(({ rule }) => isNamed(rule, caller))
    },
    isNamedAlone: (rule) =>
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

export function isOnFolders(condition: Condition | undefined): boolean {
  return condition?.requirement !== undefined && 'folders' in condition.requirement
}
