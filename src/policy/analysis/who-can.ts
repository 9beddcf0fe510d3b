import type { ObjectKind } from '../../catalog-api/operations.ts'
import type { Identifier } from '../../catalog-api/identifiers.ts'
import type { Permission } from '../../catalog-api/permissions.ts'
import type { NamedSubjects, PolicyDocument, Subjects } from '../language/policy-document.ts'
import { indexDocuments, objectPosition, type ReachingRule } from './reaching-rules.ts'
import { rulesInEffect } from './find-tags.ts'
import { restrictionsReaching, type ReachingRestriction } from './reaching-restrictions.ts'
import { matchSubjects, knownFromSubject, listSubjects, type KnownCaller, type Subject } from './subject.ts'

/** A deny, or a restriction, of callers that another rule allows. */
export interface Overriding<Rule extends ReachingRule> {
  readonly reaching: Rule
  /** The affected callers; undefined for all of them. */
  readonly subjects: Subjects | undefined
}

/**
 * Callers who are allowed: each `subject`, if the condition of the rule is true, except those in `except` and those to
 * whom one of `overridingDenies` applies (by its subjects and its condition).
 */
export interface Entitlement {
  readonly subject: Subject
  readonly reaching: ReachingRule
  readonly except: NamedSubjects | undefined
  readonly overridingDenies: readonly Overriding<ReachingRule>[]
  /** Rules that leave only a part of the table to some or all of the callers. */
  readonly restrictions: readonly Overriding<ReachingRestriction>[]
}

interface OverruledCaller {
  readonly subject: Subject
  readonly allowedBy: ReachingRule
  readonly deniedBy: ReachingRule
}

export interface Entitlements {
  readonly allowed: readonly Entitlement[]
  readonly overruled: readonly OverruledCaller[]
}

/**
 * Returns the callers who may use the permission on the object. The result is exact for all possible callers: a caller
 * is allowed if and only if one of the entitlements applies. It is derived from the rules, not by trying callers: each
 * allow rule is split into its subjects, and each subject lists the denies that can still apply to it. Of
 * conditions, only tags are decided.
 */
export function whoCan(
  documents: readonly PolicyDocument[],
  permission: Permission,
  kind: ObjectKind,
  id: Identifier,
): Entitlements {
  const [index, position] = [indexDocuments(documents), objectPosition(kind, id)]
  const rules = rulesInEffect(index, position, permission)
  const denies = rules.filter(({ rule }) => rule.effect === 'deny')
  const restricting = restrictionsReaching(index, position, permission)
  const allowed: Entitlement[] = []
  const overruled: OverruledCaller[] = []
  for (const reaching of rules.filter(({ rule }) => rule.effect === 'allow').toReversed()) {
    for (const subject of listSubjects(reaching.rule.subjects)) {
      const known = knownFromSubject(subject)
      const own = matchSubjects(reaching.rule.subjects, known)
      if (own === false) continue
      const overridingDenies = selectOverriding(denies, known)
      const total = overridingDenies.find(
        ({ reaching, subjects }) => subjects === undefined && !reaching.rule.condition,
      )
      if (total) overruled.push({ subject, allowedBy: reaching, deniedBy: total.reaching })
      else {
        const restrictions = selectOverriding(restricting, known)
        const except = own === true ? undefined : own.except
        allowed.push({ subject, reaching, except, overridingDenies, restrictions })
      }
    }
  }
  return { allowed, overruled }
}

/** Returns the rules that name the caller, or may. */
function selectOverriding<Rule extends ReachingRule>(
  rules: readonly Rule[],
  caller: KnownCaller,
): readonly Overriding<Rule>[] {
  return rules.flatMap((reaching) => {
    const match = matchSubjects(reaching.rule.subjects, caller)
    if (match === false) return []
    return [{ reaching, subjects: match === true ? undefined : match }]
  })
}
