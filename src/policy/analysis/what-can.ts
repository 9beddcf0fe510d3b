import type { Principal } from '../../identity/principal.ts'
import type { Identifier } from '../../catalog-api/identifiers.ts'
import type { Permission } from '../../catalog-api/permissions.ts'
import type { PolicyDocument } from '../language/policy-document.ts'
import { listPermissions } from './list-permissions.ts'
import {
  indexDocuments,
  namespaceKey,
  rulesReaching,
  type DocumentIndex,
  type ReachingRule,
} from './reaching-rules.ts'
import { listRestrictions, readsPart, type ReachingRestriction } from './reaching-restrictions.ts'
import { matchSubjects, knownFromPrincipal } from './subject.ts'

export interface PermittedAccess {
  readonly rule: ReachingRule
  /** Without permissions that are denied unconditionally. */
  readonly permissions: ReadonlySet<Permission>
  /** Rules that deny some of it, for some tables or under a condition. */
  readonly overridingDenies: readonly ReachingRule[]
  /** Rules that leave only a part of some tables in the namespace. */
  readonly restrictions: readonly ReachingRestriction[]
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
export function whatCan(documents: readonly PolicyDocument[], caller: Principal): readonly NamespaceAccess[] {
  const index = indexDocuments(documents)
  const permissions = listPermissions(documents)
  const namespaces = new Map(documents.map(({ namespace }) => [namespaceKey(namespace), namespace]))
  const shown = new Map<string, string>()
  return [...namespaces]
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .flatMap(([key, namespace]) => {
      const permits = permitsInNamespace(index, namespace, permissions, caller)
      const content = permitsKey(permits.filter(({ rule }) => rule.rule.tables === undefined))
      const isSame = permitsKey(permits) === (shown.get(nearestAncestorKey(shown, namespace)) ?? '[]')
      // Rules for tables of this namespace are not inherited, so they are excluded from the comparison.
      shown.set(key, content)
      return isSame ? [] : [{ namespace, permits }]
    })
}

function permitsInNamespace(
  index: DocumentIndex,
  namespace: Identifier,
  permissions: readonly Permission[],
  caller: Principal,
): readonly PermittedAccess[] {
  const permitted = new Map<
    string,
    { rule: ReachingRule; permissions: Set<Permission>; overridingDenies: Set<ReachingRule> }
  >()
  const known = knownFromPrincipal(caller)
  const denyRules = new Map<string, ReachingRule>()
  for (const permission of permissions) {
    const rules = rulesReaching(index, { namespace, table: undefined }, permission).filter(
      (reaching) =>
        appliesInNamespace(reaching, namespace) && matchSubjects(reaching.rule.subjects, known) === true,
    )
    const denies = rules.filter(({ rule }) => rule.effect === 'deny')
    if (denies.some(({ rule }) => rule.tables === undefined && !rule.condition)) continue
    for (const allow of rules.filter(({ rule }) => rule.effect === 'allow')) {
      const key = ruleName(allow)
      const permit = permitted.get(key) ?? {
        rule: allow,
        permissions: new Set(),
        overridingDenies: new Set(),
      }
      permitted.set(key, permit)
      permit.permissions.add(permission)
      for (const deny of denies) {
        // `rulesReaching` creates a new object per permission.
        const first = denyRules.get(ruleName(deny)) ?? deny
        denyRules.set(ruleName(deny), first)
        permit.overridingDenies.add(first)
      }
    }
  }
  const restrictions = listRestrictions(index, namespace).filter(
    ({ rule }) => matchSubjects(rule.subjects, known) === true,
  )
  return [...permitted.values()].map((permit) => ({
    ...permit,
    overridingDenies: [...permit.overridingDenies],
    restrictions: [...permit.permissions].some(readsPart) ? restrictions : [],
  }))
}

/** Whether a rule can decide something in the namespace, including some of its tables only. */
function appliesInNamespace({ document, rule, obstacle }: ReachingRule, namespace: Identifier): boolean {
  if (obstacle === undefined) return true
  return (
    obstacle === 'other-table' && rule.tables !== undefined && document.namespace.length === namespace.length
  )
}

function nearestAncestorKey(entries: ReadonlyMap<string, string>, namespace: Identifier): string {
  for (let depth = namespace.length - 1; depth > 0; depth--) {
    const key = namespaceKey(namespace.slice(0, depth))
    if (entries.has(key)) return key
  }
  return ''
}

function permitsKey(permits: readonly PermittedAccess[]): string {
  return JSON.stringify(
    permits.map(({ rule, permissions, overridingDenies, restrictions }) => [
      ruleName(rule),
      [...permissions],
      overridingDenies.map(ruleName),
      restrictions.map(ruleName),
    ]),
  )
}

function ruleName({ document, rule }: ReachingRule): string {
  return `${document.name}/${rule.id}`
}
