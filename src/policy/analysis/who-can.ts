import type { Permission } from '../../catalog-api/permissions.ts'
import { createRuleReference } from '../engine/compiled-rule.ts'
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
import type { Subjects } from '../language/policy-document.ts'
import type { PolicySet } from '../policy-set.ts'
import { describeRestriction } from '../restrictions/restriction.ts'
import { listNameClasses } from './name-classes.ts'
import {
  listNamespaces,
  listSteps,
  reportEffect,
  reportPart,
  reportRule,
  type Grant,
  type ReportedRule,
} from './steps.ts'

/**
 * What a caller that is the subject and nothing else sees, if all conditions that allow it are true. Of a table with tagged
 * columns, `all` is that it sees some of these, and `part` that it sees the table without them.
 */
export type Sight = 'all' | 'part' | 'nothing'

/**
 * Callers who are allowed: each `subject`, if the condition of the rule is true, except those in `except` and those to
 * whom one of the denies in `unless` applies (by its subjects and its condition).
 */
export interface Entitlement extends Grant {
  readonly subject: Subject
  readonly sees: Sight
}

export interface Entitlements {
  /** Of a table: the columns that have the tag, or any; undefined if there are none. */
  readonly columns?: readonly string[]
  readonly allowed: readonly Entitlement[]
  readonly overruled: readonly {
    readonly subject: Subject
    readonly rule: ReportedRule
    readonly deniedBy: ReportedRule
  }[]
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
  const { possible, restrictions } = listSteps(set, { permission, position, caller: anyCaller })
  const denies = possible.filter(({ rule }) => rule.effect === 'deny')
  const allowed: Entitlement[] = []
  const overruled: Entitlements['overruled'][number][] = []
  for (const allow of possible.filter(({ rule }) => rule.effect === 'allow').toReversed()) {
    for (const subject of listSubjects(allow.rule.subjects)) {
      const own = matchSubjects(allow.rule.subjects, knownFromSubject(subject))
      if (own === false) continue
      const denying = selectAffecting(denies, subject)
      const total = denying.find(({ subjects, condition }) => subjects === undefined && !condition)
      if (total) {
        overruled.push({ subject, rule: reportRule(allow), deniedBy: reportRule(total) })
        continue
      }
      const restricting = selectAffecting(restrictions, subject)
      allowed.push({
        subject,
        sees: findSight(denying, restricting, columns),
        ...reportEffect(allow, allow.condition, own !== true && own.except ? { except: own.except } : {}),
        ...(restricting.length > 0 && { restrictedBy: restricting.map(reportRestriction) }),
        unless: denying.map((deny) =>
          reportEffect(deny, deny.condition, deny.subjects ? { subjects: deny.subjects } : {}),
        ),
      })
    }
  }
  return { ...(columns.length > 0 && { columns }), allowed, overruled }
}

/** A deny, or a restriction, of callers that another rule allows. */
type Affecting<One> = One & {
  /** The affected callers; undefined for all of them. */
  readonly subjects: Subjects | undefined
  /** Whether it affects a caller that is the subject and nothing else. */
  readonly isForSubject: boolean
}

/** Returns the rules that name the caller, or may. */
function selectAffecting<One extends Step | RestrictionStep>(
  steps: readonly One[],
  subject: Subject,
): readonly Affecting<One>[] {
  return steps.flatMap((step) => {
    const match = matchSubjects(step.rule.subjects, knownFromSubject(subject))
    if (match === false) return []
    const isForSubject = matchSubjects(step.rule.subjects, knownAsOnly(subject)) === true
    return [{ ...step, subjects: match === true ? undefined : match, isForSubject }]
  })
}

/** Of a restriction of the subject, `except` are the callers that are not affected, although they are the subject. */
function reportRestriction({ subjects, isForSubject, ...step }: Affecting<RestrictionStep>) {
  return {
    ...describeRestriction({ ...step.restriction, rule: createRuleReference(step) }),
    ...(subjects && !isForSubject && { subjects }),
    ...(subjects?.except && isForSubject && { except: subjects.except }),
  }
}

function findSight(
  denies: readonly Affecting<Step>[],
  restrictions: readonly Affecting<RestrictionStep>[],
  tagged: readonly string[],
): Sight {
  if (denies.some(({ isForSubject, condition }) => isForSubject && !condition)) return 'nothing'
  const parts = restrictions.filter(({ isForSubject }) => isForSubject)
  if (parts.length === 0) return 'all'
  const shown = Object.keys(reportPart(parts).columns)
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

/** An object that has a tag, or columns with it, and the callers that may use a permission on it; a table, on those of a pattern. */
export interface TaggedEntitlements extends Entitlements, ObjectPosition {}

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
      return [{ ...position, ...whoCan(set, permission, position, columns) }]
    })
  })
}
