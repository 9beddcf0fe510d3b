import { getKeys } from '../../lib/get-keys.ts'
import { permissionNames, type Permission } from '../../catalog-api/permissions.ts'
import { factsStatedFor } from '../conditions/permission-facts.ts'
import { describePermissionSet } from './describe-permissions.ts'
import { noFacts, type ConditionFact } from '../conditions/authorization-request.ts'

export const conditionFacts: readonly ConditionFact[] = getKeys(noFacts)

/**
 * Describes why no request for any of the permissions states the fact, and which permissions have it; undefined if one
 * does.
 */
export function describeUnstatedFact(
  fact: ConditionFact,
  permissions: ReadonlySet<Permission>,
): string | undefined {
  const stated = new Set([...permissions].flatMap((permission) => [...factsStatedFor(permission)]))
  if (stated.has(fact)) return undefined
  const others = new Set(permissionNames.filter((permission) => factsStatedFor(permission).has(fact)))
  const own = stated.size === 0 ? 'no facts' : [...stated].join(', ')
  return `requests for ${describePermissionSet(permissions)} state ${own}; "${fact}" is stated for ${describePermissionSet(others)}`
}
