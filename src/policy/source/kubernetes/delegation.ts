import { isWithin } from '../../../catalog-api/identifiers.ts'
import { isDelegated, type Permission } from '../../../catalog-api/permissions.ts'
import type { DelegatedNamespace } from '../../../config/index.ts'
import type { PolicyDocument, PolicyRule, Subjects } from '../../language/policy-document.ts'
import type { PolicyVocabulary } from '../../language/policy-vocabulary.ts'

export interface DelegationLimits extends Pick<DelegatedNamespace, 'catalogNamespaces' | 'subjects'> {
  /** What the policies may allow. */
  readonly permissions: ReadonlySet<Permission>
}

/**
 * Lists what delegated policies may allow: what the operations table delegates, and what is named as additional. Extra
 * operations are only among them if they are named.
 */
export function listDelegatedPermissions(
  { permissions: { names } }: PolicyVocabulary,
  additionalPermissions: readonly string[],
): ReadonlySet<Permission> {
  return new Set(names.filter((name) => isDelegated(name) || additionalPermissions.includes(name)))
}

/**
 * Returns why a delegated policy is refused: each thing that its delegation does not cover, by field. Delegated
 * policies only grant, so they cannot bind rules of others.
 */
export function findDelegationViolations(
  document: PolicyDocument,
  limits: DelegationLimits,
): readonly string[] {
  const { catalogNamespaces } = limits
  const isInScope = catalogNamespaces.some((scope) => isWithin(document.namespace, scope))
  const scopes = catalogNamespaces.map((scope) => JSON.stringify(scope)).join(', ')
  return [
    ...(isInScope
      ? []
      : [`namespace: ${JSON.stringify(document.namespace)} is not delegated; expected it in ${scopes}`]),
    ...listRestrictions(document).map((field) => `${field}: ${onlyGrants}`),
    ...document.rules.flatMap((rule, index) =>
      findRuleViolations(rule, limits).map((message) => `rules[${index}].${message}`),
    ),
  ]
}

const onlyGrants = 'delegated policies only grant; the platform restricts'

/** Lists fields with which a policy changes what other policies allow. Commit requirements are deny rules. */
function listRestrictions({ inherit, final, onDeny, tags }: PolicyDocument): readonly string[] {
  const restrictions = {
    'inherit: false': !inherit,
    final: final.size > 0,
    onDeny: onDeny !== undefined,
    tags: tags !== undefined,
  }
  return Object.entries(restrictions).flatMap(([field, isPresent]) => (isPresent ? [field] : []))
}

function findRuleViolations(
  { effect, subjects, permissions }: PolicyRule,
  limits: DelegationLimits,
): readonly string[] {
  if (effect === 'deny') return [`effect: ${onlyGrants}`]
  const outside = [...permissions].filter((permission) => !limits.permissions.has(permission))
  return [
    ...findSubjectViolations(subjects, limits.subjects),
    ...(outside.length === 0 ? [] : [`operations: not delegated: ${outside.join(', ')}`]),
  ]
}

/** Exceptions only narrow a grant, so they may name anybody. */
function findSubjectViolations(
  { users, groups, keys, any, anonymous }: Subjects,
  delegated: DelegatedNamespace['subjects'],
): readonly string[] {
  const isOfIssuer = (name: string): boolean =>
    delegated.issuers.some((issuer) => name.startsWith(`${issuer}:`))
  const named = {
    users: users.filter((name) => !delegated.users.includes(name) && !isOfIssuer(name)),
    groups: groups.filter((name) => !delegated.groups.includes(name) && !isOfIssuer(name)),
    keys: keys.filter((id) => !delegated.keys.includes(id)),
  }
  const everyone = { any: any && !delegated.any, anonymous: anonymous && !delegated.anonymous }
  return [
    ...Object.entries(named).flatMap(([field, names]) =>
      names.map((name) => `subjects.${field}: ${JSON.stringify(name)} is not delegated`),
    ),
    ...Object.entries(everyone).flatMap(([field, isRefused]) =>
      isRefused ? [`subjects.${field}: is not delegated; expected names`] : [],
    ),
  ]
}

/**
 * Lists what a policy grants although a policy of a namespace above reserves it (`final`), so that the grant has no effect.
 * `reserving` are the policies that reserve something.
 */
export function listReservedGrants(
  document: PolicyDocument,
  reserving: readonly PolicyDocument[],
): readonly string[] {
  const above = reserving.filter(
    ({ namespace }) =>
      namespace.length < document.namespace.length && isWithin(document.namespace, namespace),
  )
  const isReserved = (permission: Permission): boolean => above.some(({ final }) => final.has(permission))
  return document.rules.flatMap(({ id, effect, permissions }) => {
    const reserved = effect === 'allow' ? [...permissions].filter(isReserved) : []
    return reserved.length === 0 ? [] : [`rule ${id}: ${reserved.join(', ')}`]
  })
}
