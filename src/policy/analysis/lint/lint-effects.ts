import { type Permission, permissionGroups } from '../../../catalog-api/index.ts'
import type { Condition } from '../../conditions/condition.ts'
import { sampleName } from '../../conditions/name-pattern.ts'
import { createRuleReference, type LocatedRule } from '../../engine/compiled-rule.ts'
import { readingOperations } from '../../engine/object-position.ts'
import {
  knownAsOnly,
  knownFromSubject,
  listSubjects,
  matchSubjects,
  type Subject,
} from '../../engine/subject.ts'
import { describePermissionSet } from '../../language/policy-vocabulary.ts'
import type { PolicyRule } from '../../language/policy-document.ts'
import type { PolicySet, PartialRequest } from '../../policy-set.ts'
import { findDescribing } from '../../visibility/visibility.ts'
import { formatRule, reportRule } from '../steps.ts'
import { type Check, isNamed, isReached, note, type Remark, type RuleIndex, warn } from './check.ts'

/**
 * Finds rules that never decide, restrictions, denies and exceptions of callers that no rule allows anything, and risky
 * grants to every caller.
 */
export function createEffectCheck(index: RuleIndex): Check {
  const findShadowed = createShadowedFinder(index)
  return (own) => [
    ...(own.rule.effect === 'allow'
      ? [...findUnreachable(own, index.set), ...findGrantsToEveryone(own), ...findHalfGrants(own, index)]
      : findNotAllowed(own, index)),
    ...findShadowed(own),
  ]
}

/** Lists the requests that represent all to which the rule applies, if its condition is true. */
function listRequests(
  { document: { namespace }, rule }: LocatedRule,
  permission: Permission,
  know: typeof knownAsOnly = knownFromSubject,
): readonly PartialRequest[] {
  const get = ({ text }: Condition) => (text === rule.condition?.text ? 'true' : 'open')
  const tables = rule.tables?.map(sampleName) ?? [undefined]
  const callers = listSubjects(rule.subjects).map(know)
  return callers
    .filter((caller) => matchSubjects(rule.subjects, caller) !== false)
    .flatMap((caller) =>
      tables.map((table) => ({ permission, position: { namespace, table }, caller, conditions: { get } })),
    )
}

/** Finds permissions of an allow that a namespace above reserves or that rules deny to all its callers. */
function findUnreachable(own: LocatedRule, set: PolicySet): readonly Remark[] {
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
  const isAll = lost.length === permissions.size
  const names = describePermissionSet(new Set(lost.map(({ permission }) => permission)))
  const causes = new Set(lost.map(({ cause }) => cause))
  const message = `${isAll ? 'can never allow anything' : `never allows ${names}`}: ${[...causes].join('; ')}`
  // A group may contain more operations than intended, so a partial loss is only informational.
  return [[isAll ? 'error' : 'info', 'unreachable', message]]
}

function findDenial(own: LocatedRule, permission: Permission, set: PolicySet): string | undefined {
  const isDenied = (request: PartialRequest): boolean => set.evaluate(request).kind === 'denied'
  // A caller that is fully known is decided faster.
  if (!listRequests(own, permission, knownAsOnly).every(isDenied)) return undefined
  const requests = listRequests(own, permission)
  if (!requests.every(isDenied)) return undefined
  const by = requests.flatMap((request) => set.evaluate(request).by ?? [])[0]
  return by && `denied by ${formatRule(reportRule(by))}`
}

/**
 * Finds rules that are never the first decisive step, if the steps are ordered from the root down, and in a namespace from
 * wider rules to narrower ones. As another rule is the first one wherever these are, all can be removed at once.
 */
function createShadowedFinder(index: RuleIndex): Check {
  const { set, rules, isNamedAlone } = index
  const widestFirst = rules.toSorted(
    (one, other) =>
      one.document.namespace.length - other.document.namespace.length ||
      Number(one.rule.tables !== undefined) - Number(other.rule.tables !== undefined) ||
      Number(other.rule.subjects.any) - Number(one.rule.subjects.any) ||
      other.rule.permissions.size - one.rule.permissions.size,
  )
  const order = new Map(widestFirst.map(({ rule }, index) => [rule, index]))
  const orderOf = ({ rule }: LocatedRule): number => order.get(rule) ?? 0

  return (own) => {
    const { rule } = own
    // Another deny does not limit reads. Comparing each of thousands of rules with all others would take minutes.
    if (rule.restriction !== undefined || isNamedAlone(rule)) return []
    const subjects = JSON.stringify(rule.subjects)
    const covering = new Map<PolicyRule, LocatedRule>()
    for (const permission of rule.permissions) {
      for (const request of listRequests(own, permission)) {
        let first = own
        set.evaluate(request, (step) => {
          if (step.rule.effect !== rule.effect || orderOf(step) >= orderOf(first)) return
          // Equal subjects have equal exceptions.
          const isAlike = step.outcome === 'open' && step.condition === undefined
          if (step.outcome === 'applies' || (isAlike && JSON.stringify(step.rule.subjects) === subjects))
            first = step
        })
        if (first === own) return []
        covering.set(first.rule, first)
      }
    }
    const names = [...covering.values()].map((one) => formatRule(createRuleReference(one))).join(' and ')
    return warn('shadowed', `is redundant: covered by ${names}`)
  }
}

/** Callers may have further groups, so a caller that is only named here stands for a mistaken name. */
function findNotAllowed(own: LocatedRule, { allows, listGrants }: RuleIndex): readonly Remark[] {
  const { restriction, subjects, permissions } = own.rule
  if (allows.length === 0) return []
  const taken = restriction === undefined ? [...permissions] : readingOperations
  const isAllowed = (caller: Subject): boolean =>
    listGrants(caller).some((grant) => isReached(own, grant, taken))
  if (restriction === undefined && subjects.except !== undefined)
    return listSubjects(subjects.except).some(isAllowed)
      ? []
      : warn('effect', 'excepts callers that no rule allows what it denies, so nobody may do it')
  // A deny for all callers needs no grant.
  if (restriction === undefined && subjects.any) return []
  const rulesOfCallers = subjects.any ? allows : [own]
  const callers = rulesOfCallers.flatMap(({ rule }) => listSubjects(rule.subjects))
  if (callers.some((caller) => isNamed(own.rule, caller) && isAllowed(caller))) return []
  const cause = subjects.any ? 'all that may are excepted' : 'their names may be misspelt'
  return restriction === undefined
    ? note('effect', `denies callers what no rule allows them: ${cause}`)
    : warn('effect', `restricts callers that no rule allows to read these tables: ${cause}`)
}

/** All other permissions are risky, also those of no group: policies must name them for a reason. */
const harmlessPermissions = new Set(
  ['browse', 'query', 'write', 'create', 'commit'].flatMap((group) => permissionGroups.get(group) ?? []),
)

function findGrantsToEveryone({ rule: { permissions, subjects } }: LocatedRule): readonly Remark[] {
  const risky = new Set([...permissions].filter((permission) => !harmlessPermissions.has(permission)))
  if (risky.size === 0 || !(subjects.any || subjects.anonymous)) return []
  const callers = subjects.any ? 'every caller' : 'callers without a credential'
  return warn(
    'everybody',
    `allows ${describePermissionSet(risky)} to ${callers}; name users or groups instead`,
  )
}

const usingTables = ['query', 'write'].flatMap((group) => permissionGroups.get(group) ?? [])
const opening = findDescribing('table').permission

function findHalfGrants(own: LocatedRule, { set }: RuleIndex): readonly Remark[] {
  if (!usingTables.some((permission) => own.rule.permissions.has(permission))) return []
  const requests = listRequests(own, opening, knownAsOnly)
  if (requests.every((one) => set.evaluate(one).by !== undefined)) return []
  return note('grant', `needs another rule that allows ${opening}, with which clients open a table`)
}
