import type { LocatedRule } from '../../engine/compiled-rule.ts'
import type { Identifier } from '../../../catalog-api/identifiers.ts'
import { permissionGroups, type Permission } from '../../../catalog-api/permissions.ts'
import { createFinding, type Finding } from './finding.ts'
import { describeImplication } from '../../language/deny-coverage.ts'
import type { PolicyDocument, PolicyRule } from '../../language/policy-document.ts'
import { describePermissionSet } from '../../language/describe-permissions.ts'
import { readsPart } from '../reaching-restrictions.ts'
import type { PolicySet } from '../../policy-set.ts'
import { indexRulesBySubject, rulesForSubjects, type RulesBySubject } from './rules-by-subject.ts'
import { matchSubjects, knownFromSubject, listSubjects } from '../../engine/subject.ts'

/** Groups that may be granted to everybody without a warning. */
const harmlessGroups = ['browse', 'query', 'write', 'create', 'commit'] as const
const harmlessPermissions: ReadonlySet<Permission> = new Set(
  harmlessGroups.flatMap((group) => permissionGroups.get(group) ?? []),
)

/** What no group holds is risky: policies must name it for a reason, and nothing is known of an extra operation. */
function isRisky(permission: Permission): boolean {
  return !harmlessPermissions.has(permission)
}

/** Finds rules that can never decide, redundant rules, and risky grants to all callers. */
export function lintAccessRules(set: PolicySet): readonly Finding[] {
  const { documents } = set
  const forAnonymous = listRules(documents).filter(({ rule }) => isGrantToAnonymous(rule))
  const allows = indexRulesBySubject(documents, 'allow')
  const denies = indexRulesBySubject(documents, 'deny')
  const order = new Map(documents.flatMap(({ rules }) => rules).map((rule, position) => [rule, position]))
  return documents.flatMap((document) =>
    document.rules.flatMap((rule) => {
      const located = { document, rule }
      return [
        ...(rule.effect === 'allow' ? findUnreachable(located, denies, set) : []),
        ...findRedundant(located, rule.effect === 'allow' ? allows : denies, set, order),
        ...findGrantsToEveryone(located),
        ...findDeniesWithoutAnonymous(located, forAnonymous, set),
      ]
    }),
  )
}

/** Finds permissions of an allow rule that a namespace above reserves or that a rule denies to all its callers. */
function findUnreachable(
  { document, rule }: LocatedRule,
  denies: RulesBySubject,
  set: PolicySet,
): readonly Finding[] {
  const above = documentsStrictlyAbove(set, document.namespace)
  const denying = rulesForSubjects(denies, document.namespace, listSubjects(rule.subjects)).filter(
    (other) => other.rule.condition === undefined && coversRule(other, { document, rule }),
  )
  const lost = new Map<string, Permission[]>()
  for (const permission of rule.permissions) {
    const cause = findReservation(above, permission) ?? findDenial(denying, permission)
    if (cause !== undefined) lost.set(cause, [...(lost.get(cause) ?? []), permission])
  }
  const count = [...lost.values()].flat().length
  if (count === 0) return []
  const causes = [...lost].map(
    ([cause, permissions]) => `${describePermissionSet(new Set(permissions))}: ${cause}`,
  )
  const isAll = count === rule.permissions.size
  // A group may contain more operations than intended, so a partial loss is only informational.
  const summary = isAll ? 'can never allow anything' : 'never allows some of its operations'
  return [
    createFinding(
      document,
      rule,
      isAll ? 'error' : 'info',
      'unreachable',
      `${summary}: ${causes.join('; ')}`,
    ),
  ]
}

function findReservation(above: readonly PolicyDocument[], permission: Permission): string | undefined {
  const by = above.find((other) => other.final.has(permission))
  return by && `final in ${by.name} (${by.file}:${by.line})`
}

function findDenial(denying: readonly LocatedRule[], permission: Permission): string | undefined {
  const by = denying.find(({ rule }) => rule.permissions.has(permission))
  if (by === undefined) return undefined
  const reference = `${by.document.name}/${by.rule.id} (${by.document.file}:${by.rule.line})`
  return `denied by ${reference}${describeImplication(by.rule.implied.get(permission))}`
}

function coversRule(wider: LocatedRule, own: LocatedRule): boolean {
  return coversObjectsOf(wider, own) && coversSubjectsOf(wider.rule, own.rule)
}

function findRedundant(
  { document, rule }: LocatedRule,
  candidates: RulesBySubject,
  set: PolicySet,
  order: ReadonlyMap<PolicyRule, number>,
): readonly Finding[] {
  // Another deny does not limit what may be read.
  if (rule.restriction !== undefined) return []
  for (const { document: other, rule: wider } of rulesForSubjects(
    candidates,
    document.namespace,
    listSubjects(rule.subjects),
  )) {
    const isWider =
      wider !== rule &&
      (wider.condition === undefined || wider.condition.text === rule.condition?.text) &&
      [...rule.permissions].every((permission) => wider.permissions.has(permission)) &&
      coversRule({ document: other, rule: wider }, { document, rule }) &&
      isEffectiveIn({ document: other, rule: wider }, document, set)
    if (!isWider) continue
    const isSame = other === document || other.namespace.length === document.namespace.length
    const isMutual =
      isSame && rule.permissions.size === wider.permissions.size && coversSubjectsOf(rule, wider)
    if (isMutual && (order.get(rule) ?? 0) < (order.get(wider) ?? 0)) continue
    const reference = `${other.name}/${wider.id} (${other.file}:${wider.line})`
    return [createFinding(document, rule, 'warning', 'shadowed', `is redundant: covered by ${reference}`)]
  }
  return []
}

/** Whether an allow of the rule is effective in the namespace of the other document, which is the same or beneath. */
function isEffectiveIn(
  { document, rule }: LocatedRule,
  { namespace }: PolicyDocument,
  set: PolicySet,
): boolean {
  if (rule.effect === 'deny') return true
  const isAbove = document.namespace.length < namespace.length
  const between = isAbove
    ? set.documentsAbove(namespace).filter((other) => other.namespace.length > document.namespace.length)
    : []
  if (between.some(({ inherit }) => !inherit)) return false
  return !documentsStrictlyAbove(set, document.namespace).some((other) =>
    [...rule.permissions].some((permission) => other.final.has(permission)),
  )
}

function documentsStrictlyAbove(set: PolicySet, namespace: Identifier): readonly PolicyDocument[] {
  return namespace.length === 0 ? [] : set.documentsAbove(namespace.slice(0, -1))
}

/** Whether the rule, in the same namespace or above, covers every object of `own`. */
function coversObjectsOf({ document, rule }: LocatedRule, own: LocatedRule): boolean {
  if (rule.tables === undefined) return true
  if (document.namespace.length !== own.document.namespace.length) return false
  return own.rule.tables?.every((pattern) => rule.tables?.includes(pattern)) === true
}

function coversSubjectsOf(rule: PolicyRule, own: PolicyRule): boolean {
  return listSubjects(own.subjects).every((subject) => {
    const known = knownFromSubject(subject)
    if (matchSubjects(own.subjects, known) === false) return true
    if (matchSubjects(rule.subjects, known) === true) return true
    // Equal subjects have equal exceptions.
    return JSON.stringify(rule.subjects) === JSON.stringify(own.subjects)
  })
}

function findGrantsToEveryone({ document, rule }: LocatedRule): readonly Finding[] {
  const granted = new Set([...rule.permissions].filter(isRisky))
  if (rule.effect === 'deny' || granted.size === 0) return []
  const { any, anonymous } = rule.subjects
  const names = describePermissionSet(granted)
  const messages = [
    ...(any ? [`allows ${names} to every caller; name users or groups instead of "any"`] : []),
    ...(anonymous ? [`allows ${names} to callers without a credential; name users or groups instead`] : []),
  ]
  return messages.map((message) => createFinding(document, rule, 'warning', 'everybody', message))
}

/** Finds denies for all authenticated callers that leave a permission allowed to anonymous callers. */
function findDeniesWithoutAnonymous(
  own: LocatedRule,
  forAnonymous: readonly LocatedRule[],
  set: PolicySet,
): readonly Finding[] {
  const { effect, subjects, permissions, restriction } = own.rule
  if (effect === 'allow' || !subjects.any || subjects.anonymous) return []
  const grant = forAnonymous.find(
    (other) =>
      [...other.rule.permissions].some(
        (permission) => permissions.has(permission) || (restriction !== undefined && readsPart(permission)),
      ) && canOverlap(own, other, set),
  )
  if (grant === undefined) return []
  const { document, rule } = grant
  const reference = `${document.name}/${rule.id} (${document.file}:${rule.line})`
  const message = `does not cover anonymous callers, which ${reference} allows the same; expected "everyone: true"`
  return [createFinding(own.document, own.rule, 'warning', 'anonymous', message)]
}

function canOverlap(one: LocatedRule, other: LocatedRule, set: PolicySet): boolean {
  const [upper, lower] =
    one.document.namespace.length < other.document.namespace.length ? [one, other] : [other, one]
  const above = upper.document.namespace
  const { namespace } = lower.document
  if (!above.every((part, depth) => part === namespace[depth])) return false
  if (above.length < namespace.length && upper.rule.tables !== undefined) return false
  return isEffectiveIn(upper, lower.document, set)
}

function isGrantToAnonymous({ effect, subjects }: PolicyRule): boolean {
  return effect === 'allow' && subjects.anonymous
}

function listRules(documents: readonly PolicyDocument[]): readonly LocatedRule[] {
  return documents.flatMap((document) => document.rules.map((rule) => ({ document, rule })))
}
