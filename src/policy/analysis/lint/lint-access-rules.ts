import { permissionGroups, type Permission } from '../../../catalog-api/permissions.ts'
import { groupBy } from '../../../lib/group-by.ts'
import type { Condition } from '../../conditions/condition.ts'
import { sampleName } from '../../conditions/name-pattern.ts'
import type { LocatedRule } from '../../engine/compiled-rule.ts'
import type { RestrictionStep, Step } from '../../engine/evaluate.ts'
import {
  knownAsOnly,
  knownFromSubject,
  listSubjects,
  matchSubjects,
  type KnownCaller,
  type Subject,
} from '../../engine/subject.ts'
import { describeImplication, describePermissionSet } from '../../language/policy-vocabulary.ts'
import type { PolicyRule } from '../../language/policy-document.ts'
import type { PolicySet, Question } from '../../policy-set.ts'
import { createFinding, nameRule, type Finding } from './finding.ts'

/** Finds rules that never decide, and risky grants to every caller. */
export function lintAccessRules(set: PolicySet): readonly Finding[] {
  const rules = set.documents.flatMap((document) => document.rules.map((rule) => ({ document, rule })))
  const findShadowed = createShadowedFinder(set, rules)
  return rules.flatMap((own) => [
    ...(own.rule.effect === 'allow' ? [...findUnreachable(own, set), ...findGrantsToEveryone(own)] : []),
    ...findShadowed(own),
  ])
}

/** Lists the questions that represent all to which the rule applies, if its condition is true. */
function listQuestions(
  { document, rule }: LocatedRule,
  permission: Permission,
  know: (subject: Subject) => KnownCaller = knownFromSubject,
): readonly Question[] {
  const { namespace } = document
  const get = ({ text }: Condition) => (text === rule.condition?.text ? 'true' : 'open')
  const tables = rule.tables?.map(sampleName) ?? [undefined]
  return listSubjects(rule.subjects)
    .map(know)
    .filter((caller) => matchSubjects(rule.subjects, caller) !== false)
    .flatMap((caller) =>
      tables.map((table) => ({
        permission,
        position: { namespace, table },
        caller,
        conditions: { get },
      })),
    )
}

/** Finds permissions of an allow that a namespace above reserves or that rules deny to all its callers. */
function findUnreachable(own: LocatedRule, set: PolicySet): readonly Finding[] {
  const { permissions } = own.rule
  const { namespace } = own.document
  const above = namespace.length === 0 ? [] : set.documentsAbove(namespace.slice(0, -1))
  const lost = [...permissions].flatMap((permission) => {
    const reserving = above.find(({ final }) => final.has(permission))
    const cause = reserving
      ? `final in ${reserving.name} (${reserving.file}:${reserving.line})`
      : findDenial(own, permission, set)
    return cause === undefined ? [] : [{ permission, cause }]
  })
  if (lost.length === 0) return []
  const causes = [...groupBy(lost, ({ cause }) => cause)].map(
    ([cause, ofCause]) =>
      `${describePermissionSet(new Set(ofCause.map(({ permission }) => permission)))}: ${cause}`,
  )
  const isAll = lost.length === permissions.size
  const summary = isAll ? 'can never allow anything' : 'never allows some of its operations'
  // A group may contain more operations than intended, so a partial loss is only informational.
  return [createFinding(own, isAll ? 'error' : 'info', 'unreachable', `${summary}: ${causes.join('; ')}`)]
}

function findDenial(own: LocatedRule, permission: Permission, set: PolicySet): string | undefined {
  // What is known of all of a caller is decided faster.
  const alone = listQuestions(own, permission, knownAsOnly)
  if (alone.some((question) => set.evaluate(question).kind !== 'denied')) return undefined
  let cause: string | undefined
  for (const question of listQuestions(own, permission)) {
    const { kind, by } = set.evaluate(question)
    if (kind !== 'denied') return undefined
    cause ??= by && `denied by ${nameRule(by)}${describeImplication(by.implication)}`
  }
  return cause
}

/**
 * Finds rules that are never the first decisive step, if the steps are ordered from the root down, and in a namespace from
 * wider rules to narrower ones. As another rule is the first one wherever these are, all can be removed at once.
 */
function createShadowedFinder(
  set: PolicySet,
  rules: readonly LocatedRule[],
): (own: LocatedRule) => readonly Finding[] {
  const order = new Map(rules.map(({ rule }, index) => [rule, index]))
  const bySubject = groupBy(
    rules.flatMap(({ rule }) => listSubjects(rule.subjects).map((subject) => ({ rule, subject }))),
    ({ rule, subject }) => mentionKey(rule, subject),
  )
  /** Evaluating each of thousands of rules against all others of its namespace would take minutes. */
  const isNamedAlone = (rule: PolicyRule): boolean =>
    !bySubject.has(`${rule.effect} any `) &&
    listSubjects(rule.subjects).some((subject) => bySubject.get(mentionKey(rule, subject))?.length === 1)

  function precedes(one: LocatedRule, other: LocatedRule): boolean {
    const [first, second] = [one, other].map(({ document, rule }) => [
      document.namespace.length,
      rule.tables === undefined ? 0 : 1,
      rule.subjects.any ? 0 : 1,
      -rule.permissions.size,
      order.get(rule) ?? 0,
    ])
    const different = first?.findIndex((value, index) => value !== second?.[index]) ?? -1
    return (first?.[different] ?? 0) < (second?.[different] ?? 0)
  }

  return (own) => {
    const { rule } = own
    // Another deny does not limit what may be read.
    if (rule.restriction !== undefined || isNamedAlone(rule)) return []
    const covering = new Map<PolicyRule, LocatedRule>()
    for (const permission of rule.permissions) {
      for (const question of listQuestions(own, permission)) {
        let first: LocatedRule | undefined
        set.evaluate(question, (step) => {
          const isDecisive = step.rule.effect === rule.effect && appliesLike(rule, step)
          if (isDecisive && precedes(step, own) && (first === undefined || precedes(step, first)))
            first = step
        })
        if (first === undefined) return []
        covering.set(first.rule, first)
      }
    }
    const names = [...covering.values()].map(nameRule).join(' and ')
    return [createFinding(own, 'warning', 'shadowed', `is redundant: covered by ${names}`)]
  }
}

function mentionKey({ effect }: PolicyRule, { kind, name }: Subject): string {
  return `${effect} ${kind} ${name}`
}

/** Equal subjects have equal exceptions. */
function appliesLike(rule: PolicyRule, { outcome, condition, rule: other }: Step | RestrictionStep): boolean {
  const isSame = JSON.stringify(other.subjects) === JSON.stringify(rule.subjects)
  return outcome === 'applies' || (outcome === 'open' && condition === undefined && isSame)
}

/** Groups that may be granted to everybody without a warning. */
const harmlessGroups = ['browse', 'query', 'write', 'create', 'commit'] as const
const harmlessPermissions: ReadonlySet<Permission> = new Set(
  harmlessGroups.flatMap((group) => permissionGroups.get(group) ?? []),
)

/** What no group holds is risky: policies must name it for a reason, and nothing is known of an extra operation. */
function findGrantsToEveryone(own: LocatedRule): readonly Finding[] {
  const { permissions, subjects } = own.rule
  const granted = new Set([...permissions].filter((permission) => !harmlessPermissions.has(permission)))
  if (granted.size === 0) return []
  const names = describePermissionSet(granted)
  const messages = [
    ...(subjects.any ? [`allows ${names} to every caller; name users or groups instead of "any"`] : []),
    ...(subjects.anonymous
      ? [`allows ${names} to callers without a credential; name users or groups instead`]
      : []),
  ]
  return messages.map((message) => createFinding(own, 'warning', 'everybody', message))
}
