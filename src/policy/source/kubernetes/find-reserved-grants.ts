import { isWithin } from '../../../catalog-api/identifiers.ts'
import type { Permission } from '../../../catalog-api/permissions.ts'
import type { PolicyDocument } from '../../language/policy-document.ts'

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
