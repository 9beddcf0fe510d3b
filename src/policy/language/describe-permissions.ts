import { permissionGroups, permissionNames, type Permission } from '../../catalog-api/permissions.ts'

/** Permissions in as few words as there are: groups that are held whole, then the rest. */
export function describePermissionSet(permissions: ReadonlySet<Permission>): string {
  const words: string[] = []
  const left = new Set(permissions)
  // The widest groups are defined last.
  for (const [group, members] of [...permissionGroups].toReversed()) {
    if (members.length < 2 || !members.every((member) => left.has(member))) continue
    words.push(group)
    for (const member of members) left.delete(member)
  }
  return [...words, ...permissionNames.filter((name) => left.has(name))].join(', ')
}
