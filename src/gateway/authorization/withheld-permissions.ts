import type { StatedFacts } from '../../catalog-api/facts.ts'
import type { Operation } from '../../catalog-api/operations.ts'
import { getRequirements } from '../../catalog-api/requirements.ts'
import { permissionFacts } from '../../policy/conditions/permission-facts.ts'
import type { RequiredPermission } from './required-permission.ts'

/**
 * Lists the permissions on an object without which its storage credentials are removed from the response to the
 * operation: it may have those of any object that the request names.
 */
export function listWithheldPermissions(
  operation: Operation,
  { kind, id }: Pick<RequiredPermission, 'kind' | 'id'>,
  stated: StatedFacts,
): readonly RequiredPermission[] {
  return getRequirements(operation)
    .filter(({ isWithheld }) => isWithheld)
    .map(({ permission }) => ({
      permission,
      kind,
      id,
      facts: permissionFacts(permission, id, stated),
      fallback: 'withheld',
    }))
}
