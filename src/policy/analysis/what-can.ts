import type { Principal } from '../../identity/principal.ts'
import type { Identifier } from '../../catalog-api/identifiers.ts'
import { permissionNames, type Permission } from '../../catalog-api/permissions.ts'
import type { PolicyDocument } from '../language/policy-document.ts'
import {
  indexDocuments,
  namespaceKey,
  rulesReaching,
  type DocumentIndex,
  type ReachingRule,
} from './reaching-rules.ts'
import { matchSubjects, knownFromPrincipal } from './subject.ts'

/** What one rule allows somebody, and what may deny it all the same. */
export interface PermittedAccess {
  readonly rule: ReachingRule
  /** What it allows; without what is denied in any case. */
  readonly permissions: ReadonlySet<Permission>
  /** Rules that deny some of it, to some tables or under a condition. */
  readonly overridingDenies: readonly ReachingRule[]
}

/** What somebody may do in a namespace, and beneath it as far as no other entry speaks of a namespace there. */
export interface NamespaceAccess {
  readonly namespace: Identifier
  readonly permits: readonly PermittedAccess[]
}

/**
 * What the caller may do, by namespaces. Exact: the caller may do something to an object if and only if the nearest
 * entry holds a permit of it whose tables and condition fit, and none of whose objections does. The groups of the
 * caller are taken to be all.
 */
export function whatCan(documents: readonly PolicyDocument[], caller: Principal): readonly NamespaceAccess[] {
  const index = indexDocuments(documents)
  const namespaces = new Map(documents.map(({ namespace }) => [namespaceKey(namespace), namespace]))
  const shown = new Map<string, string>()
  return [...namespaces]
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .flatMap(([key, namespace]) => {
      const permits = permitsInNamespace(index, namespace, caller)
      const content = permitsKey(permits.filter(({ rule }) => rule.rule.tables === undefined))
      const isSame = permitsKey(permits) === (shown.get(nearestAncestorKey(shown, namespace)) ?? '[]')
      // What only holds in the namespace itself is not what those beneath are compared with.
      shown.set(key, content)
      return isSame ? [] : [{ namespace, permits }]
    })
}

function permitsInNamespace(
  index: DocumentIndex,
  namespace: Identifier,
  caller: Principal,
): readonly PermittedAccess[] {
  const permitted = new Map<
    string,
    { rule: ReachingRule; permissions: Set<Permission>; overridingDenies: Set<ReachingRule> }
  >()
  const objecting = new Map<string, ReachingRule>()
  for (const permission of permissionNames) {
    const rules = rulesReaching(index, { namespace, table: undefined }, permission).filter(
      (reaching) =>
        appliesInNamespace(reaching, namespace) &&
        matchSubjects(reaching.rule.subjects, knownFromPrincipal(caller)) === true,
    )
    const denies = rules.filter(({ rule }) => rule.effect === 'deny')
    if (denies.some(({ rule }) => rule.tables === undefined && !rule.condition)) continue
    for (const by of rules.filter(({ rule }) => rule.effect === 'allow')) {
      const key = ruleName(by)
      const permit = permitted.get(key) ?? { rule: by, permissions: new Set(), overridingDenies: new Set() }
      permitted.set(key, permit)
      permit.permissions.add(permission)
      for (const deny of denies) {
        // The same rule is found anew for each permission.
        const known = objecting.get(ruleName(deny)) ?? deny
        objecting.set(ruleName(deny), known)
        permit.overridingDenies.add(known)
      }
    }
  }
  return [...permitted.values()].map((permit) => ({
    ...permit,
    overridingDenies: [...permit.overridingDenies],
  }))
}

/** Whether a rule can decide something in the namespace: about some of its tables, too. */
function appliesInNamespace({ document, rule, obstacle }: ReachingRule, namespace: Identifier): boolean {
  if (obstacle === undefined) return true
  return (
    obstacle === 'other-table' && rule.tables !== undefined && document.namespace.length === namespace.length
  )
}

/** The nearest namespace above that there is an entry for, as its key. */
function nearestAncestorKey(entries: ReadonlyMap<string, string>, namespace: Identifier): string {
  for (let depth = namespace.length - 1; depth > 0; depth--) {
    const key = namespaceKey(namespace.slice(0, depth))
    if (entries.has(key)) return key
  }
  return ''
}

function permitsKey(permits: readonly PermittedAccess[]): string {
  return JSON.stringify(
    permits.map(({ rule, permissions, overridingDenies }) => [
      ruleName(rule),
      [...permissions],
      overridingDenies.map(ruleName),
    ]),
  )
}

function ruleName({ document, rule }: ReachingRule): string {
  return `${document.name}/${rule.id}`
}
