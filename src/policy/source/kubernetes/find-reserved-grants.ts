import { isWithin } from '../../../catalog-api/identifiers.ts'
import type { Permission } from '../../../catalog-api/permissions.ts'
import type { PolicyDocument } from '../../language/policy-document.ts'

/**
 * Describes what a policy grants although a policy of a namespace above reserves it (`final`), so that the grant has no
 * effect; undefined if there is no such grant. `reserving` are the policies that reserve something.
 */
export function describeReservedGrants(
  document: PolicyDocument,
  reserving: readonly PolicyDocument[],
): string | undefined {
  const above = reserving.filter(
    ({ namespace }) =>
      namespace.length < document.namespace.length && isWithin(document.namespace, namespace),
  )
  const isReserved = (permission: Permission): boolean => above.some(({ final }) => final.has(permission))
  const grants = document.rules.flatMap(({ id, effect, permissions }) => {
    const reserved = effect === 'allow' ? [...permissions].filter(isReserved) : []
    return reserved.length === 0 ? [] : [`rule ${id}: ${reserved.join(', ')}`]
  })
  if (grants.length === 0) return undefined
  return `the platform reserves operations (final), so these grants have no effect: ${grants.join('; ')}`
}
