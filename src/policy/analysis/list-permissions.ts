import { isExtraOperationName, permissionNames, type Permission } from '../../catalog-api/permissions.ts'
import type { PolicyDocument } from '../language/policy-document.ts'

/**
 * Lists the permissions that the documents can allow: those of the catalog API, and the extra operations that a rule
 * covers.
 */
export function listPermissions(documents: readonly PolicyDocument[]): readonly Permission[] {
  const extra = new Set(
    documents.flatMap(({ rules }) =>
      rules.flatMap(({ permissions }) => [...permissions].filter(isExtraOperationName)),
    ),
  )
  return [...permissionNames, ...[...extra].toSorted()]
}
