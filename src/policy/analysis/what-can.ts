import type { Principal } from '../../identity/index.ts'
import type { Identifier } from '../../catalog-api/identifiers.ts'
import type { Permission } from '../../catalog-api/permissions.ts'
import type { LocatedRule } from '../engine/compiled-rule.ts'
import type { Step } from '../engine/evaluate.ts'
import { namespaceKey, readsPart } from '../engine/object-position.ts'
import { knownFromPrincipal, matchSubjects } from '../engine/subject.ts'
import { listPermissions } from '../language/policy-vocabulary.ts'
import type { PolicyRule } from '../language/policy-document.ts'
import type { PolicySet } from '../policy-set.ts'
import { listRestrictions, type ReachingRestriction } from './reaching-restrictions.ts'
import { listNamespaces, listSteps, reportRule, type ReportedRule } from './steps.ts'

/** What one rule allows. */
export interface PermittedAccess {
  /** Without those that are denied unconditionally. */
  readonly operations: readonly Permission[]
  readonly rule: ReportedRule
  readonly tables?: readonly string[]
  readonly if?: string
  /** What leaves only a part of some tables in the namespace. */
  readonly restrictedBy?: readonly ReachingRestriction[]
  /** Rules that deny some of it, for some tables or under a condition. */
  readonly unless: readonly Omit<PermittedAccess, 'restrictedBy' | 'unless'>[]
}

/** Permissions of the caller in a namespace, and beneath it down to namespaces with an entry of their own. */
export interface NamespaceAccess {
  readonly namespace: Identifier
  readonly permits: readonly PermittedAccess[]
}

/**
 * Returns the permissions of the caller by namespace. The result is exact: the caller is allowed something on an object
 * if and only if the nearest entry has a permit whose tables and condition match, and none of its overriding denies
 * matches. The groups of the principal are taken as complete.
 */
export function whatCan(set: PolicySet, caller: Principal): readonly NamespaceAccess[] {
  const permissions = listPermissions(set.documents)
  const shown = new Map<string, string>()
  return [...listNamespaces(set)]
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .flatMap(([key, namespace]) => {
      const permits = permitsInNamespace(set, namespace, permissions, caller)
      const isSame =
        JSON.stringify(permits) === (shown.get(nearestAncestorKey(shown, namespace)) ?? JSON.stringify([]))
      // Rules for tables of this namespace are not inherited, so they are excluded from the comparison.
      shown.set(key, JSON.stringify(permits.filter(({ tables }) => tables === undefined)))
      return isSame ? [] : [{ namespace, permits }]
    })
}

function permitsInNamespace(
  set: PolicySet,
  namespace: Identifier,
  permissions: readonly Permission[],
  caller: Principal,
): readonly PermittedAccess[] {
  const permitted = new Map<
    PolicyRule,
    { allow: Step; operations: Permission[]; denies: Map<PolicyRule, LocatedRule> }
  >()
  const known = knownFromPrincipal(caller)
  const position = { namespace, table: undefined }
  for (const permission of permissions) {
    const question = { permission, position, caller: known, conditions: { get: () => 'open' as const } }
    const steps = listSteps(set, question).rules.filter((step) => canDecideIn(step, namespace))
    const denies = steps.filter(({ rule }) => rule.effect === 'deny')
    if (denies.some(({ rule }) => rule.tables === undefined && !rule.condition)) continue
    for (const allow of steps.filter(({ rule }) => rule.effect === 'allow')) {
      const permit = permitted.get(allow.rule) ?? {
        allow,
        operations: [],
        denies: new Map<PolicyRule, LocatedRule>(),
      }
      permitted.set(allow.rule, permit)
      permit.operations.push(permission)
      for (const { document, rule } of denies) permit.denies.set(rule, { document, rule })
    }
  }
  const restrictedBy = listRestrictions(set, namespace, (subjects) => matchSubjects(subjects, known) === true)
  return [...permitted.values()].map(({ allow, operations, denies }) => ({
    ...reportPermit(allow, operations),
    ...(restrictedBy.length > 0 && operations.some(readsPart) && { restrictedBy }),
    unless: [...denies.values()].map((deny) =>
      reportPermit(
        deny,
        operations.filter((operation) => deny.rule.permissions.has(operation)),
      ),
    ),
  }))
}

function reportPermit({ document, rule }: LocatedRule, operations: readonly Permission[]) {
  return {
    operations,
    rule: reportRule({ document, rule }),
    ...(rule.tables !== undefined && { tables: rule.tables }),
    ...(rule.condition !== undefined && { if: rule.condition.text }),
  }
}

/** Whether a rule can decide something in the namespace, including some of its tables only. */
function canDecideIn({ document, rule, outcome }: Step, namespace: Identifier): boolean {
  if (outcome === 'applies' || outcome === 'open') return true
  return (
    outcome === 'other-table' && document.namespace.length === namespace.length && rule.tables !== undefined
  )
}

function nearestAncestorKey(entries: ReadonlyMap<string, string>, namespace: Identifier): string {
  for (let depth = namespace.length - 1; depth > 0; depth--) {
    const key = namespaceKey(namespace.slice(0, depth))
    if (entries.has(key)) return key
  }
  return ''
}
