import type { Permission } from '../../catalog-api/permissions.ts'
import { createRuleReference, type LocatedRule } from '../engine/compiled-rule.ts'
import type { Step } from '../engine/evaluate.ts'
import type { ObjectPosition } from '../engine/object-position.ts'
import {
  knownFromSubject,
  listSubjects,
  matchSubjects,
  type KnownCaller,
  type Subject,
} from '../engine/subject.ts'
import type { NamedSubjects, Subjects } from '../language/policy-document.ts'
import type { PolicySet } from '../policy-set.ts'
import {
  createRestrictionReport,
  restrictionsReaching,
  type ReachingRestriction,
} from './reaching-restrictions.ts'
import { rulesInEffect } from './rules-in-effect.ts'

/** A deny, or a restriction, of callers that another rule allows. */
export interface Overriding<Rule extends LocatedRule> {
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
  readonly reaching: Step
  readonly except: NamedSubjects | undefined
  readonly overridingDenies: readonly Overriding<Step>[]
  /** Rules that leave only a part of the table to some or all of the callers. */
  readonly restrictions: readonly Overriding<ReachingRestriction>[]
}

interface OverruledCaller {
  readonly subject: Subject
  readonly allowedBy: Step
  readonly deniedBy: Step
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
export function whoCan(set: PolicySet, permission: Permission, position: ObjectPosition): Entitlements {
  const rules = rulesInEffect(set, position, permission)
  const denies = rules.filter(({ rule }) => rule.effect === 'deny')
  const restricting = restrictionsReaching(set, position, permission)
  const allowed: Entitlement[] = []
  const overruled: OverruledCaller[] = []
  for (const reaching of rules.filter(({ rule }) => rule.effect === 'allow').toReversed()) {
    for (const subject of listSubjects(reaching.rule.subjects)) {
      const known = knownFromSubject(subject)
      const own = matchSubjects(reaching.rule.subjects, known)
      if (own === false) continue
      const overridingDenies = selectOverriding(denies, known)
      const total = overridingDenies.find(
        ({ reaching, subjects }) => subjects === undefined && !reaching.condition,
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
function selectOverriding<Rule extends LocatedRule>(
  rules: readonly Rule[],
  caller: KnownCaller,
): readonly Overriding<Rule>[] {
  return rules.flatMap((reaching) => {
    const match = matchSubjects(reaching.rule.subjects, caller)
    if (match === false) return []
    return [{ reaching, subjects: match === true ? undefined : match }]
  })
}

/** Describes an entitlement for JSON; `describe` describes callers. */
export function reportEntitlement<Named>(
  { reaching, except, overridingDenies, restrictions }: Entitlement,
  describe: (subjects: NamedSubjects) => Named,
) {
  return {
    rule: createRuleReference(reaching),
    ...(reaching.condition && { if: reaching.condition.text }),
    ...(except && { except: describe(except) }),
    ...(restrictions.length > 0 && {
      restrictedBy: restrictions.map(({ reaching, subjects }) => ({
        ...createRestrictionReport(reaching),
        ...(subjects && { subjects: describe(subjects) }),
      })),
    }),
    unless: overridingDenies.map(({ reaching, subjects }) => ({
      rule: createRuleReference(reaching),
      ...(subjects && { subjects: describe(subjects) }),
      ...(reaching.condition && { if: reaching.condition.text }),
    })),
  }
}
