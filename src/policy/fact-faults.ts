import { permissionNames, type Permission } from '../interface/permissions.ts'
import { factsStatedFor, type ConditionFact } from './operation-facts.ts'
import { describePermissionSet } from './permission-names.ts'
import { noFacts } from './question.ts'

/** The names of all facts in conditions. */
export const conditionFacts = Object.keys(noFacts) as readonly ConditionFact[]

/** Why no request for any of the permissions states the fact, with what fits; undefined if one does. */
export function describeUnstatedFact(
  fact: ConditionFact,
  permissions: ReadonlySet<Permission>,
): string | undefined {
  const stated = new Set([...permissions].flatMap((permission) => [...factsStatedFor(permission)]))
  if (stated.has(fact)) return undefined
  const others = new Set(permissionNames.filter((permission) => factsStatedFor(permission).has(fact)))
  const own = stated.size === 0 ? 'no facts' : [...stated].join(', ')
  return `"${fact}" is not a fact of ${describePermissionSet(permissions)}, which has ${own}; it is a fact of ${describePermissionSet(others)}`
}
