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
import type { NamedSubjects, Subjects } from '../language/policy-document.ts'
import type { PolicySet } from '../policy-set.ts'
import { describeRestriction, type RestrictionReport } from '../restrictions/restriction.ts'
import { listNameClasses } from './name-classes.ts'
import { listNamespaces, listSteps, reportPart, reportRule, type ReportedRule } from './steps.ts'

/** Which callers of those that another rule allows are affected. */
interface Affected {
  /** Undefined for all of them. */
  readonly subjects?: Subjects
  /** Of a restriction: those that are not affected, although they are the subject. */
  readonly except?: NamedSubjects
}

/**
 * What a caller that is the subject and nothing else sees, if all conditions that allow it are true. Of a table with tagged
 * columns, `all` is that it sees some of these, and `part` that it sees the table without them.
 */
export type Sight = 'all' | 'part' | 'nothing'

/**
 * Callers who are allowed: each `subject`, if the condition of the rule is true, except those in `except` and those to
 * whom one of the denies in `unless` applies (by its subjects and its condition).
 */
export interface Entitlement {
  readonly subject: Subject
  readonly rule: ReportedRule
  readonly sees: Sight
  readonly if?: string
  readonly except?: NamedSubjects
  /** What leaves only a part of the table to some or all of the callers. */
  readonly restrictedBy?: readonly (RestrictionReport & Affected)[]
  readonly unless: readonly (Pick<Entitlement, 'rule' | 'if'> & Affected)[]
}

interface OverruledCaller {
  readonly subject: Subject
  readonly rule: ReportedRule
  readonly deniedBy: ReportedRule
}

export interface Entitlements {
  /** Of a table: the columns that have the tag, or any; undefined if there are none. */
  readonly columns?: readonly string[]
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
  for (const allow of rules.filter(({ rule }) => rule.effect === 'allow').toReversed()) {
    for (const subject of listSubjects(allow.rule.subjects)) {
      const own = matchSubjects(allow.rule.subjects, knownFromSubject(subject))
      if (own === false) continue
      const rule = reportRule(allow)
      const overriding = selectOverriding(denies, subject)
      const total = overriding.find(({ subjects, step }) => subjects === undefined && !step.condition)
      if (total) overruled.push({ subject, rule, deniedBy: reportRule(total.step) })
      else {
        const restrictions = selectOverriding(restricting, subject)
        allowed.push({
          subject,
          rule,
          sees: findSight(overriding, restrictions, columns),
          ...(allow.condition && { if: allow.condition.text }),
          ...(own !== true && own.except && { except: own.except }),
          ...(restrictions.length > 0 && { restrictedBy: restrictions.map(reportRestriction) }),
          unless: overriding.map(({ step, subjects }) => ({
            rule: reportRule(step),
            ...(subjects && { subjects }),
            ...(step.condition && { if: step.condition.text }),
          })),
        })
      }
    }
  }
  return { ...(columns.length > 0 && { columns }), allowed, overruled }
}

/** A deny, or a restriction, of callers that another rule allows. */
interface Overriding<One extends Step | RestrictionStep> {
  readonly step: One
  /** The affected callers; undefined for all of them. */
  readonly subjects: Subjects | undefined
  /** Whether it affects a caller that is the subject and nothing else. */
  readonly isForSubject: boolean
}

/** Returns the rules that name the caller, or may. */
function selectOverriding<One extends Step | RestrictionStep>(
  steps: readonly One[],
  subject: Subject,
): readonly Overriding<One>[] {
  return steps.flatMap((step) => {
    const { subjects } = step.rule
    const match = matchSubjects(subjects, knownFromSubject(subject))
    if (match === false) return []
    const isForSubject = matchSubjects(subjects, knownAsOnly(subject)) === true
    return [{ step, subjects: match === true ? undefined : match, isForSubject }]
  })
}

function reportRestriction({ step, subjects, isForSubject }: Overriding<RestrictionStep>) {
  return {
    ...describeRestriction({ ...step.restriction, rule: createRuleReference(step) }),
    ...(subjects && !isForSubject && { subjects }),
    ...(subjects?.except && isForSubject && { except: subjects.except }),
  }
}

function findSight(
  denies: readonly Overriding<Step>[],
  restrictions: readonly Overriding<RestrictionStep>[],
  tagged: readonly string[],
): Sight {
  if (denies.some(({ isForSubject, step }) => isForSubject && !step.condition)) return 'nothing'
  const parts = restrictions.flatMap(({ isForSubject, step }) => (isForSubject ? [step] : []))
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
