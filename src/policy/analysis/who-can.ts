import type { Permission } from '../../catalog-api/permissions.ts'
import { createRuleReference, type LocatedRule } from '../engine/compiled-rule.ts'
import type { RestrictionStep, Step } from '../engine/evaluate.ts'
import { isNamespaceMember, type ObjectPosition } from '../engine/object-position.ts'
import {
  anyCaller,
  knownAsOnly,
  knownFromSubject,
  listSubjects,
  matchSubjects,
  type Subject,
} from '../engine/subject.ts'
import type { NamedSubjects, Subjects } from '../language/policy-document.ts'
import type { PolicySet } from '../policy-set.ts'
import { combineRestrictions } from '../restrictions/restriction.ts'
import { listNameClasses } from './name-classes.ts'
import { createRestrictionReport } from './reaching-restrictions.ts'
import { listNamespaces, listSteps } from './steps.ts'

/** A deny, or a restriction, of callers that another rule allows. */
interface Overriding<Rule extends LocatedRule> {
  readonly reaching: Rule
  /** The affected callers; undefined for all of them. */
  readonly subjects: Subjects | undefined
  /** Whether it affects a caller that is the subject and nothing else. */
  readonly isForSubject: boolean
}

/**
 * What a caller that is the subject and nothing else sees, if all conditions that allow it are true. Of a table with tagged
 * columns, `all` is that it sees some of these, and `part` that it sees the table without them.
 */
export type Sight = 'all' | 'part' | 'nothing'

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
  readonly restrictions: readonly Overriding<RestrictionStep>[]
  readonly sees: Sight
}

interface OverruledCaller {
  readonly subject: Subject
  readonly allowedBy: Step
  readonly deniedBy: Step
}

export interface Entitlements {
  /** Of a table: the columns that have the tag, or any. */
  readonly columns: readonly string[]
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
  set: PolicySet,
  permission: Permission,
  position: ObjectPosition,
  columns = listTaggedColumns(set, position),
): Entitlements {
  const question = { permission, position, caller: anyCaller }
  const { possible: rules, restrictions: restricting } = listSteps(set, question)
  const denies = rules.filter(({ rule }) => rule.effect === 'deny')
  const allowed: Entitlement[] = []
  const overruled: OverruledCaller[] = []
  for (const reaching of rules.filter(({ rule }) => rule.effect === 'allow').toReversed()) {
    for (const subject of listSubjects(reaching.rule.subjects)) {
      const own = matchSubjects(reaching.rule.subjects, knownFromSubject(subject))
      if (own === false) continue
      const overridingDenies = selectOverriding(denies, subject)
      const total = overridingDenies.find(
        ({ reaching, subjects }) => subjects === undefined && !reaching.condition,
      )
      if (total) overruled.push({ subject, allowedBy: reaching, deniedBy: total.reaching })
      else {
        const restrictions = selectOverriding(restricting, subject)
        const except = own === true ? undefined : own.except
        const sees = findSight(overridingDenies, restrictions, columns)
        allowed.push({ subject, reaching, except, overridingDenies, restrictions, sees })
      }
    }
  }
  return { columns, allowed, overruled }
}

/** Returns the rules that name the caller, or may. */
function selectOverriding<Rule extends LocatedRule>(
  rules: readonly Rule[],
  subject: Subject,
): readonly Overriding<Rule>[] {
  return rules.flatMap((reaching) => {
    const match = matchSubjects(reaching.rule.subjects, knownFromSubject(subject))
    if (match === false) return []
    const isForSubject = matchSubjects(reaching.rule.subjects, knownAsOnly(subject)) === true
    return [{ reaching, subjects: match === true ? undefined : match, isForSubject }]
  })
}

function findSight(
  denies: readonly Overriding<Step>[],
  restrictions: readonly Overriding<RestrictionStep>[],
  tagged: readonly string[],
): Sight {
  if (denies.some(({ isForSubject, reaching }) => isForSubject && !reaching.condition)) return 'nothing'
  const parts = restrictions.flatMap(({ isForSubject, reaching }) =>
    isForSubject ? [{ ...reaching.restriction, rule: createRuleReference(reaching) }] : [],
  )
  if (parts.length === 0) return 'all'
  const shown = [...combineRestrictions(parts).columns.keys()]
  if (shown.length === 0) return 'nothing'
  // A part of a struct, or the struct around it, shows something of a column.
  const isShown = (path: string): boolean =>
    shown.some((one) => one === path || one.startsWith(`${path}.`) || path.startsWith(`${one}.`))
  return tagged.some(isShown) ? 'all' : 'part'
}

/** The declared columns of a table that have the tag, or any. */
export function listTaggedColumns(set: PolicySet, position: ObjectPosition, tag?: string): readonly string[] {
  return [...set.findTags(position).columns].flatMap(([path, { tags }]) =>
    (tag === undefined ? tags.length > 0 : tags.includes(tag)) ? [path] : [],
  )
}

/** Objects that have a tag, or columns with it, and the callers that may use a permission on them. */
export interface TaggedEntitlements extends Entitlements {
  /** A table stands for tables of a pattern. */
  readonly position: ObjectPosition
}

/** Returns who may use the permission on all that has the tag: exact, as `whoCan`. */
export function whoCanTag(
  set: PolicySet,
  permission: Permission,
  tag: string,
): readonly TaggedEntitlements[] {
  return [...listNamespaces(set).values()].flatMap((namespace) => {
    const tables = isNamespaceMember(permission) ? listNameClasses([set], namespace) : []
    return [undefined, ...tables].flatMap((table) => {
      const position = { namespace, table }
      const { names } = set.findTags(position)
      // Unknown tags may be this one.
      const isTagged = typeof names === 'symbol' || names.includes(tag)
      const columns = isTagged ? [] : listTaggedColumns(set, position, tag)
      if (!isTagged && columns.length === 0) return []
      return [{ position, ...whoCan(set, permission, position, columns) }]
    })
  })
}

/** Describes an entitlement for JSON; `describe` describes callers. */
export function reportEntitlement<Named>(
  { reaching, except, overridingDenies, restrictions, sees }: Entitlement,
  describe: (subjects: NamedSubjects) => Named,
) {
  return {
    rule: createRuleReference(reaching),
    sees,
    ...(reaching.condition && { if: reaching.condition.text }),
    ...(except && { except: describe(except) }),
    ...(restrictions.length > 0 && {
      restrictedBy: restrictions.map(({ reaching, subjects, isForSubject }) => ({
        ...createRestrictionReport(reaching),
        ...(subjects && (isForSubject ? {} : { subjects: describe(subjects) })),
        ...(isForSubject && subjects?.except && { except: describe(subjects.except) }),
      })),
    }),
    unless: overridingDenies.map(({ reaching, subjects }) => ({
      rule: createRuleReference(reaching),
      ...(subjects && { subjects: describe(subjects) }),
      ...(reaching.condition && { if: reaching.condition.text }),
    })),
  }
}
