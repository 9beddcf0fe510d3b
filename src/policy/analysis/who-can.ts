import type { ObjectKind } from '../../catalog-api/operations.ts'
import type { Identifier } from '../../catalog-api/identifiers.ts'
import type { Permission } from '../../catalog-api/permissions.ts'
import type { NamedSubjects, PolicyDocument, Subjects } from '../language/policy-document.ts'
import { indexDocuments, objectPosition, rulesReaching, type ReachingRule } from './reaching-rules.ts'
import { matchSubjects, knownFromSubject, listSubjects, type SubjectMatch, type Subject } from './subject.ts'

/** A rule that denies some of the callers whom another rule allows. */
export interface OverridingDeny {
  readonly reaching: ReachingRule
  /** Whom of them: undefined for all. */
  readonly subjects: Subjects | undefined
}

/**
 * Callers who are allowed something: whoever is `subject`, if the condition of the rule holds, unless one of
 * `except`, and unless one of the objections applies (its subjects, and its condition if it has one).
 */
export interface Entitlement {
  readonly subject: Subject
  readonly reaching: ReachingRule
  readonly except: NamedSubjects | undefined
  readonly overridingDenies: readonly OverridingDeny[]
}

/** A caller whom one rule allows and another denies, whatever else is true. */
interface OverruledCaller {
  readonly subject: Subject
  readonly allowedBy: ReachingRule
  readonly deniedBy: ReachingRule
}

/** Who may use a permission on an object. */
export interface Entitlements {
  readonly allowed: readonly Entitlement[]
  readonly overruled: readonly OverruledCaller[]
}

/**
 * Who may use the permission on the object. Exact, and complete whatever the callers are called: a caller is allowed
 * if and only if one of the entitlements says so. Nothing is tried out. Each rule that allows is taken apart into the
 * ways in which it names callers, and what may still deny each of them stands beside it, less what cannot concern
 * such a caller. Conditions stay conditions.
 */
export function whoCan(
  documents: readonly PolicyDocument[],
  permission: Permission,
  kind: ObjectKind,
  id: Identifier,
): Entitlements {
  const rules = rulesReaching(indexDocuments(documents), objectPosition(kind, id), permission).filter(
    ({ obstacle }) => obstacle === undefined,
  )
  const denies = rules.filter(({ rule }) => rule.effect === 'deny')
  const allowed: Entitlement[] = []
  const overruled: OverruledCaller[] = []
  for (const reaching of rules.filter(({ rule }) => rule.effect === 'allow').toReversed()) {
    for (const subject of listSubjects(reaching.rule.subjects)) {
      const known = knownFromSubject(subject)
      const own = matchSubjects(reaching.rule.subjects, known)
      if (own === false) continue
      const overridingDenies = denies.flatMap((deny) =>
        createOverridingDeny(deny, matchSubjects(deny.rule.subjects, known)),
      )
      const total = overridingDenies.find(
        ({ reaching, subjects }) => subjects === undefined && !reaching.rule.condition,
      )
      if (total) overruled.push({ subject, allowedBy: reaching, deniedBy: total.reaching })
      else
        allowed.push({ subject, reaching, except: own === true ? undefined : own.except, overridingDenies })
    }
  }
  return { allowed, overruled }
}

function createOverridingDeny(reaching: ReachingRule, concern: SubjectMatch): readonly OverridingDeny[] {
  if (concern === false) return []
  return [{ reaching, subjects: concern === true ? undefined : concern }]
}
