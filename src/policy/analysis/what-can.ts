import type { Principal } from '../../identity/index.ts'
import type { Identifier } from '../../catalog-api/identifiers.ts'
import type { Permission } from '../../catalog-api/permissions.ts'
import { matchesAny } from '../conditions/name-pattern.ts'
import { createRuleReference, type LocatedRule } from '../engine/compiled-rule.ts'
import type { Step } from '../engine/evaluate.ts'
import { namespaceKey, readsPart } from '../engine/object-position.ts'
import { knownFromPrincipal, matchSubjects } from '../engine/subject.ts'
import { listPermissions } from '../language/policy-vocabulary.ts'
import type { PolicyRule, Subjects } from '../language/policy-document.ts'
import type { PolicySet } from '../policy-set.ts'
import { describeRestriction, type RestrictionReport } from '../restrictions/restriction.ts'
import { resolveRestriction } from '../tags/object-tags.ts'
import {
  listNamespaces,
  listOwnDocuments,
  listSteps,
  reportEffect,
  type Grant,
  type ReportedEffect,
} from './steps.ts'

/** What one rule allows or denies, without what is denied unconditionally. */
interface AffectedAccess extends ReportedEffect {
  readonly operations: readonly Permission[]
}

export interface PermittedAccess extends AffectedAccess, Grant {
  readonly operations: readonly Permission[]
  readonly unless: readonly AffectedAccess[]
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
      const above = namespace.map((_, depth) => namespaceKey(namespace.slice(0, depth)))
      const nearest = above.findLast((one) => shown.has(one)) ?? ''
      const isSame = JSON.stringify(permits) === (shown.get(nearest) ?? JSON.stringify([]))
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
  const known = knownFromPrincipal(caller)
  const question = {
    position: { namespace, table: undefined },
    caller: known,
    conditions: { get: () => 'open' as const },
  }
  const permitted = new Map<PolicyRule, { allow: Step; operations: Permission[]; denies: Step[] }>()
  for (const permission of permissions) {
    const steps = listSteps(set, { ...question, permission }).rules.filter((step) =>
      canDecideIn(step, namespace),
    )
    const denies = steps.filter(({ rule }) => rule.effect === 'deny')
    if (denies.some(({ rule }) => rule.tables === undefined && !rule.condition)) continue
    for (const allow of steps.filter(({ rule }) => rule.effect === 'allow')) {
      const permit = permitted.get(allow.rule) ?? { allow, operations: [], denies: [] }
      permitted.set(allow.rule, permit)
      permit.operations.push(permission)
      permit.denies.push(...denies)
    }
  }
  const restrictedBy = listRestrictions(set, namespace, (subjects) => matchSubjects(subjects, known) === true)
  return [...permitted.values()].map(({ allow, operations, denies }) => ({
    ...reportAccess(allow, operations),
    ...(restrictedBy.length > 0 && operations.some(readsPart) && { restrictedBy }),
    unless: [...new Map(denies.map((deny) => [deny.rule, deny])).values()].map((deny) =>
      reportAccess(
        deny,
        operations.filter((operation) => deny.rule.permissions.has(operation)),
      ),
    ),
  }))
}

function reportAccess({ document, rule }: LocatedRule, operations: readonly Permission[]): AffectedAccess {
  const { tables, condition } = rule
  return reportEffect({ document, rule }, condition, { operations, ...(tables !== undefined && { tables }) })
}

/** Whether a rule can decide something in the namespace, including some of its tables only. */
function canDecideIn({ document, rule, outcome }: Step, namespace: Identifier): boolean {
  if (outcome === 'applies' || outcome === 'open') return true
  return (
    outcome === 'other-table' && document.namespace.length === namespace.length && rule.tables !== undefined
  )
}

/** A restriction of some tables of a namespace. One by tags is one for each declared table, and one for all others. */
interface ReachingRestriction extends RestrictionReport {
  readonly tables: readonly string[]
  /** If it is that for all others: the declared tables, which its patterns may match. */
  readonly exceptTables?: readonly string[]
}

/** Returns the restrictions of tables of a namespace. Those by tags are listed for each of the tables that they match. */
export function listRestrictions(
  set: PolicySet,
  namespace: Identifier,
  concerns: (subjects: Subjects) => boolean = () => true,
): readonly ReachingRestriction[] {
  return listOwnDocuments(set, namespace).flatMap((document) =>
    document.rules.flatMap((rule) => {
      const { restriction, subjects, tables = [] } = rule
      if (restriction === undefined || !concerns(subjects)) return []
      const resolve = (ofTables: readonly string[], table?: string): ReachingRestriction => {
        const resolved = resolveRestriction(restriction, set.findTags({ namespace, table }))
        const named = { ...resolved, rule: createRuleReference({ document, rule }) }
        return { ...describeRestriction(named), tables: ofTables }
      }
      if (!('without' in restriction.columns)) return [resolve(tables)]
      const declared = set.listTaggedTables(namespace).filter((table) => matchesAny(tables, table))
      const others = tables.filter((table) => table.includes('*') || !declared.includes(table))
      return [
        ...declared.map((table) => resolve([table], table)),
        ...(others.length === 0 ? [] : [{ ...resolve(others), exceptTables: declared }]),
      ]
    }),
  )
}
