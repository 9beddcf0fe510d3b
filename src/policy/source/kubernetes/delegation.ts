import { isWithin } from '../../../catalog-api/identifiers.ts'
import { isDelegated, type Permission } from '../../../catalog-api/permissions.ts'
import type { DelegatedNamespace } from '../../../config/index.ts'
import type { PolicyDocument, PolicyRule } from '../../language/policy-document.ts'
import type { PolicyVocabulary } from '../../language/policy-vocabulary.ts'
import type { PolicySet } from '../../policy-set.ts'

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

const onlyGrants = 'delegated policies only grant; the platform restricts'

/**
 * Returns why a delegated policy is refused: each thing that its delegation does not cover, by field. Delegated
 * policies only grant, so they cannot bind rules of others.
 */
export function findDelegationViolations(
  { namespace, inherit, final, onDeny, tags, rules }: PolicyDocument,
  limits: DelegationLimits,
): readonly string[] {
  const { catalogNamespaces } = limits
  const scopes = catalogNamespaces.map((scope) => JSON.stringify(scope)).join(', ')
  // Fields with which a policy changes what others allow. Commit requirements are deny rules.
  const restrictions = {
    'inherit: false': !inherit,
    final: final.size > 0,
    onDeny: onDeny !== undefined,
    tags: tags !== undefined,
  }
  return [
    ...(catalogNamespaces.some((scope) => isWithin(namespace, scope))
      ? []
      : [`namespace: ${JSON.stringify(namespace)} is not delegated; expected it in ${scopes}`]),
    ...Object.entries(restrictions).flatMap(([field, isPresent]) =>
      isPresent ? [`${field}: ${onlyGrants}`] : [],
    ),
    ...rules.flatMap((rule, index) =>
      findRuleViolations(rule, limits).map((message) => `rules[${index}].${message}`),
    ),
  ]
}

/** Exceptions of the subjects only narrow a grant, so they may name anybody. */
function findRuleViolations(
  { effect, subjects, permissions }: PolicyRule,
  { subjects: delegated, permissions: allowed }: DelegationLimits,
): readonly string[] {
  if (effect === 'deny') return [`effect: ${onlyGrants}`]
  const isOfIssuer = (name: string): boolean =>
    delegated.issuers.some((issuer) => name.startsWith(`${issuer}:`))
  const outside = [...permissions].filter((permission) => !allowed.has(permission))
  return [
    ...(['users', 'groups', 'keys'] as const).flatMap((field) =>
      subjects[field]
        .filter((name) => !delegated[field].includes(name) && (field === 'keys' || !isOfIssuer(name)))
        .map((name) => `subjects.${field}: ${JSON.stringify(name)} is not delegated`),
    ),
    ...(['any', 'anonymous'] as const)
      .filter((field) => subjects[field] && !delegated[field])
      .map((field) => `subjects.${field}: is not delegated; expected names`),
    ...(outside.length === 0 ? [] : [`operations: not delegated: ${outside.join(', ')}`]),
  ]
}

/**
 * Lists what a policy grants although a policy of a namespace above reserves it (`final`), so that the grant has no effect.
 */
export function listReservedGrants(
  { namespace, rules }: PolicyDocument,
  inForce: PolicySet,
): readonly string[] {
  const above = inForce.documentsAbove(namespace).filter((other) => other.namespace.length < namespace.length)
  return rules.flatMap(({ id, effect, permissions }) => {
    const reserved =
      effect === 'allow'
        ? [...permissions].filter((permission) => above.some(({ final }) => final.has(permission)))
        : []
    return reserved.length === 0 ? [] : [`rule ${id}: ${reserved.join(', ')}`]
  })
}
