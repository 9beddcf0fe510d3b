import type { Principal } from '../../identity/index.ts'
import type { Identifier, Permission } from '../../catalog-api/index.ts'
import { groupBy } from '../../lib/index.ts'
import { matchesAny } from '../conditions/name-pattern.ts'
import { createRuleReference, type LocatedRule } from '../engine/compiled-rule.ts'
import type { RestrictionStep } from '../engine/evaluate.ts'
import { isNamespaceMember, namespaceKey, readsPart, type ObjectPosition } from '../engine/object-position.ts'
import {
  anyCaller,
  knownAsOnly,
  knownFromPrincipal,
  knownFromSubject,
  listSubjects,
  matchSubjects,
  type KnownCaller,
  type Subject,
} from '../engine/subject.ts'
import { listPermissions } from '../language/policy-vocabulary.ts'
import type { NamedSubjects, Subjects } from '../language/policy-document.ts'
import type { PolicySet } from '../policy-set.ts'
import { describeRestriction, type RestrictionReport } from '../restrictions/restriction.ts'
import { resolveRestriction } from '../tags/object-tags.ts'
import {
  listNamespaces,
  listOwnDocuments,
  listPositionClasses,
  listRules,
  listSteps,
  type ReportedRule,
  reportPart,
  reportRule,
} from './steps.ts'

/** The callers, operations and tables of a report that a rule affects; all of them, if no member is defined. */
export interface Scope {
  readonly subjects?: Subjects | undefined
  /** Callers that it does not affect. */
  readonly except?: NamedSubjects | undefined
  readonly operations?: readonly Permission[]
  readonly tables?: readonly string[] | undefined
  /** Tables among them that it does not affect. */
  readonly exceptTables?: readonly string[]
}

/** A rule that decides if its condition is true. */
interface ReportedEffect extends Scope {
  readonly rule: ReportedRule
  readonly if?: string | undefined
}

export interface Grant extends ReportedEffect {
  readonly subject?: Subject
  /** Restrictions that leave only a part of the table, or of some tables. */
  readonly restrictedBy?: readonly (RestrictionReport & Scope)[] | undefined
  /** Denies for some callers, operations and tables, or under a condition. */
  readonly unless: readonly ReportedEffect[]
}

/**
 * The part that a caller that is only the subject sees, if all conditions that allow it are true. Of a table with tagged
 * columns, `all` means that it sees some of these, and `part` that it sees the table without them.
 */
export type VisiblePart = 'all' | 'part' | 'nothing'

export type Entitlements = ReturnType<typeof whoCan>

/**
 * Returns the callers who may use the permission on the object. The result is exact for all possible callers: a caller is
 * allowed if and only if it is one of the subjects that are `allowed`, the condition of the rule is true, and neither
 * `except` nor a deny in `unless` is about it. It is derived from the rules, not by trying callers: each allow rule is split
 * into its subjects, and each subject lists the denies that can still apply to it. Of conditions, only tags are decided.
 */
export function whoCan(
  set: PolicySet,
  permission: Permission,
  position: ObjectPosition,
  columns = listTaggedColumns(set, position),
) {
  const { possible, restrictions } = listSteps(set, { permission, position, caller: anyCaller })
  const denies = possible.filter(({ rule }) => rule.effect === 'deny')
  const allows = possible.filter(({ rule }) => rule.effect === 'allow').toReversed()
  const allowed = allows.flatMap((allow) =>
    listSubjects(allow.rule.subjects).flatMap((subject) => {
      const own = matchSubjects(allow.rule.subjects, knownFromSubject(subject))
      if (own === false) return []
      const denying = selectAffecting(denies, subject)
      if (denying.some(({ subjects, condition }) => subjects === undefined && !condition)) return []
      const isDenied = denying.some(({ isForSubject, condition }) => isForSubject && !condition)
      const restricting = selectAffecting(restrictions, subject)
      const sees: VisiblePart = isDenied ? 'nothing' : findVisiblePart(restricting, columns)
      const restrictedBy = restricting.map(
        ({ subjects, isForSubject, restriction }): RestrictionReport & Scope => ({
          ...describeRestriction(restriction),
          ...(isForSubject ? { except: subjects?.except } : { subjects }),
        }),
      )
      const grant = {
        subject,
        rule: reportRule(allow),
        sees,
        if: allow.rule.condition?.text,
        except: own === true ? undefined : own.except,
        restrictedBy: restrictedBy.length > 0 ? restrictedBy : undefined,
        unless: denying.map((deny) => ({
          rule: reportRule(deny),
          subjects: deny.subjects,
          if: deny.condition?.text,
        })),
      }
      return [grant satisfies Grant]
    }),
  )
  /** Of a table, `columns` are those that have the tag, or any; undefined if there are none. */
  return { columns: columns.length > 0 ? columns : undefined, allowed }
}

/**
 * Returns the rules that name the caller, or may, with the affected callers (undefined for all), and whether they include one
 * that is the subject and nothing else.
 */
function selectAffecting<One extends LocatedRule>(steps: readonly One[], subject: Subject) {
  return steps.flatMap((step) => {
    const match = matchSubjects(step.rule.subjects, knownFromSubject(subject))
    if (match === false) return []
    const isForSubject = matchSubjects(step.rule.subjects, knownAsOnly(subject)) === true
    return [{ ...step, subjects: match === true ? undefined : match, isForSubject }]
  })
}

function findVisiblePart(
  restricting: readonly (RestrictionStep & { readonly isForSubject: boolean })[],
  tagged: readonly string[],
): VisiblePart {
  const parts = restricting.filter(({ isForSubject }) => isForSubject)
  if (parts.length === 0) return 'all'
  const shown = Object.keys(reportPart(parts).columns)
  if (shown.length === 0) return 'nothing'
  // A part of a struct, or the struct around it, shows something of a column.
  const isShown = (path: string): boolean =>
    shown.some((one) => one === path || one.startsWith(`${path}.`) || path.startsWith(`${one}.`))
  return tagged.some(isShown) ? 'all' : 'part'
}

/** The declared columns of a table that have the tag, or any. */
function listTaggedColumns(set: PolicySet, position: ObjectPosition, tag?: string): readonly string[] {
  return [...set.findTags(position).columns].flatMap(([path, { tags }]) =>
    (tag === undefined ? tags.length > 0 : tags.includes(tag)) ? [path] : [],
  )
}

/**
 * Returns who may use the permission on each object that has the tag or columns with it: exact, as `whoCan`. An entry about
 * a table is about those of a pattern.
 */
export function whoCanTag(set: PolicySet, permission: Permission, tag: string) {
  const isOfTables = isNamespaceMember(permission)
  return [...listNamespaces(set).values()].flatMap((namespace) =>
    listPositionClasses([set], namespace).flatMap((position) => {
      if (position.table !== undefined && !isOfTables) return []
      const { names } = set.findTags(position)
      // Unknown tags may be this one.
      const isTagged = names === 'unknown' || names.includes(tag)
      const columns = isTagged ? [] : listTaggedColumns(set, position, tag)
      if (!isTagged && columns.length === 0) return []
      return [{ ...position, ...whoCan(set, permission, position, columns) }]
    }),
  )
}

/**
 * Returns the permissions of the caller by namespace, each also for objects beneath it down to namespaces with an entry of
 * their own. The result is exact: the caller is allowed something on an object if and only if the nearest entry has a
 * permit whose operations, tables and condition match, and none of its overriding denies matches. An unconditional
 * denial is in no permit. The groups of the principal are taken as complete.
 */
export function whatCan(set: PolicySet, caller: Principal) {
  const permissions = listPermissions(set.documents)
  const known = knownFromPrincipal(caller)
  const inherited = new Map<string, string>()
  return [...listNamespaces(set)]
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .flatMap(([key, namespace]) => {
      const permits = listPermits(set, namespace, permissions, known)
      const above = namespace.map((_, depth) => namespaceKey(namespace.slice(0, depth)))
      const nearest = inherited.get(above.findLast((one) => inherited.has(one)) ?? '') ?? '[]'
      // Rules for tables of this namespace are not inherited, so they are excluded from the comparison.
      inherited.set(key, JSON.stringify(permits.filter(({ tables }) => tables === undefined)))
      return JSON.stringify(permits) === nearest ? [] : [{ namespace, permits }]
    })
}

function listPermits(
  set: PolicySet,
  namespace: Identifier,
  permissions: readonly Permission[],
  caller: KnownCaller,
): readonly Grant[] {
  const position = { namespace, table: undefined }
  const conditions = { get: () => 'open' as const }
  const found = permissions.flatMap((permission) => {
    const steps = listSteps(set, { permission, position, caller, conditions }).rules.filter(
      ({ document, outcome }) =>
        outcome === 'applies' ||
        outcome === 'open' ||
        // It may decide on some tables of the namespace.
        (outcome === 'other-table' && document.namespace.length === namespace.length),
    )
    const denies = steps.filter(({ rule }) => rule.effect === 'deny')
    if (denies.some(({ rule }) => rule.tables === undefined && !rule.condition)) return []
    const allows = steps.filter(({ rule }) => rule.effect === 'allow')
    return allows.map((allow) => ({ permission, allow, denies }))
  })
  const restrictedBy = listTableRules(set, namespace, caller).filter((rule) => rule.columns !== undefined)
  return [
    ...groupBy(found, ({ allow: { document, rule } }) => `${document.name}/${rule.id}`).values(),
  ].flatMap((alike) => {
    const operations = alike.map(({ permission }) => permission)
    const denies = new Map(alike.flatMap(({ denies }) => denies.map((deny) => [deny.rule, deny])))
    const unless = [...denies.values()].map((deny) =>
      reportAccess(
        deny,
        operations.filter((operation) => deny.rule.permissions.has(operation)),
      ),
    )
    const isRestricted = restrictedBy.length > 0 && operations.some(readsPart)
    return alike.slice(0, 1).map(({ allow }) => ({
      ...reportAccess(allow, operations),
      restrictedBy: isRestricted ? restrictedBy : undefined,
      unless,
    }))
  })
}

function reportAccess({ document, rule }: LocatedRule, operations: readonly Permission[]) {
  return { operations, rule: reportRule({ document, rule }), tables: rule.tables, if: rule.condition?.text }
}

/** A rule for tables of a namespace; a restriction has the columns and rows that it leaves. */
type TableRule = { readonly tables: readonly string[]; readonly exceptTables?: readonly string[] } & (
  | RestrictionReport
  | (Pick<RestrictionReport, 'rule'> & { readonly columns?: undefined })
)

/**
 * Returns the rules for some tables of a namespace that concern one caller, or all. A restriction is listed once for each
 * declared table if it selects columns by tags, and once for all others that its patterns match.
 */
export function listTableRules(set: PolicySet, namespace: Identifier, caller?: KnownCaller) {
  return listRules(listOwnDocuments(set, namespace)).flatMap((located): readonly TableRule[] => {
    const { restriction, subjects, tables } = located.rule
    if (tables === undefined) return []
    if (caller !== undefined && matchSubjects(subjects, caller) !== true) return []
    const rule = createRuleReference(located)
    if (restriction === undefined) return [{ rule, tables }]
    const report = (ofTables: readonly string[], table?: string) => {
      const resolved = resolveRestriction(restriction, set.findTags({ namespace, table }))
      return { ...describeRestriction({ ...resolved, rule }), tables: ofTables }
    }
    if (!('without' in restriction.columns)) return [report(tables)]
    const declared = set.listTaggedTables(namespace).filter((table) => matchesAny(tables, table))
    const others = tables.filter((table) => table.includes('*') || !declared.includes(table))
    return [
      ...declared.map((table) => report([table], table)),
      ...(others.length === 0 ? [] : [{ ...report(others), exceptTables: declared }]),
    ]
  })
}
