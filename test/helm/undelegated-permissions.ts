import { isDelegated, permissionGroups, permissionNames } from '../../src/catalog-api/permissions.ts'

/** Returns, as YAML, what delegations do not cover unless they name it: each permission with the groups that contain it. */
export function listUndelegatedPermissions(): string {
  const lines = permissionNames
    .filter((name) => !isDelegated(name))
    .map((name) => {
      const groups = [...permissionGroups].filter(([, names]) => names.includes(name))
      return `${name}: [${groups.map(([group]) => group).join(', ')}]\n`
    })
  return `# Written by npm run schema.\n${lines.join('')}`
}
