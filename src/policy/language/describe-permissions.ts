import {
  isExtraOperationName,
  permissionGroups,
  permissionNames,
  type Permission,
} from '../../catalog-api/permissions.ts'
import type { PolicyDocument } from './policy-document.ts'

/** Lists permissions in their shortest form: complete groups of the catalog API first, then the remaining permissions. */
export function describePermissionSet(permissions: ReadonlySet<Permission>): string {
  const words: string[] = []
  const remaining = new Set(permissions)
  // The largest groups are defined last.
  for (const [group, members] of [...permissionGroups].toReversed()) {
    if (members.length < 2 || !members.every((member) => remaining.has(member))) continue
    words.push(group)
    for (const member of members) remaining.delete(member)
  }
  const named = permissionNames.filter((name) => remaining.has(name))
  return [...words, ...named, ...[...remaining].filter(isExtraOperationName)].join(', ')
}

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
