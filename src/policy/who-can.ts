import type { ObjectKind } from '../interface/operations.ts'
import type { Identifier } from '../interface/identifiers.ts'
import type { Permission } from '../interface/permissions.ts'
import type { NamedSubjects, PolicyDocument, Subjects } from './policy-document.ts'
import { indexDocuments, positionOf, rulesReaching, type ReachingRule } from './rule-reach.ts'
import { concernOf, knownBy, subjectsIn, type Concern, type Subject } from './subject-logic.ts'

/** A rule that denies some of the callers whom another rule allows. */
export interface Objection {
  readonly by: ReachingRule
  /** Whom of them: undefined for all. */
  readonly subjects: Subjects | undefined
}

/**
 * Callers who are allowed something: whoever is `subject`, if the condition of the rule holds, unless one of
 * `except`, and unless one of the objections applies (its subjects, and its condition if it has one).
 */
export interface Entitlement {
  readonly subject: Subject
  readonly by: ReachingRule
  readonly except: NamedSubjects | undefined
  readonly objections: readonly Objection[]
}

/** A caller whom one rule allows and another denies, whatever else is true. */
interface Overruled {
  readonly subject: Subject
  readonly by: ReachingRule
  readonly overruledBy: ReachingRule
}

/** Who may use a permission on an object. */
export interface Entitlements {
  readonly allowed: readonly Entitlement[]
  readonly overruled: readonly Overruled[]
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
  const rules = rulesReaching(indexDocuments(documents), positionOf(kind, id), permission).filter(
    ({ obstacle }) => obstacle === undefined,
  )
  const denies = rules.filter(({ rule }) => rule.effect === 'deny')
  const allowed: Entitlement[] = []
  const overruled: Overruled[] = []
  for (const by of rules.filter(({ rule }) => rule.effect === 'allow').toReversed()) {
    for (const subject of subjectsIn(by.rule.subjects)) {
      const known = knownBy(subject)
      const own = concernOf(by.rule.subjects, known)
      if (own === false) continue
      const objections = denies.flatMap((deny) => objectionOf(deny, concernOf(deny.rule.subjects, known)))
      const total = objections.find(({ by, subjects }) => subjects === undefined && !by.rule.condition)
      if (total) overruled.push({ subject, by, overruledBy: total.by })
      else allowed.push({ subject, by, except: own === true ? undefined : own.except, objections })
    }
  }
  return { allowed, overruled }
}

function objectionOf(by: ReachingRule, concern: Concern): readonly Objection[] {
  if (concern === false) return []
  return [{ by, subjects: concern === true ? undefined : concern }]
}
