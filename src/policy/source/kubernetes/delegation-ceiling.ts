import { isDelegated, type Permission } from '../../../catalog-api/permissions.ts'
import type { PolicyVocabulary } from '../../language/policy-vocabulary.ts'

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
