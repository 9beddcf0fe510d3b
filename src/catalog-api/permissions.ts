import { operations, operationNames, type PermissionGroup, type OperationName } from './operations.ts'

/**
 * What a policy can grant besides the operations themselves: the effects that hide in a parameter or in a body,
 * so that granting the operation does not grant them.
 */
export const extraPermissions = {
  /** Replace the rows of a table that exists: CreateTable, RegisterTable and InsertIntoTable with mode overwrite. */
  OverwriteTable: { group: 'drop' },
  /** Choose where in storage a table lies instead of leaving it to the catalog. */
  ChooseLocation: { group: 'admin' },
  /** Choose how the storage of a table is reached: endpoint, bucket, account. */
  ChooseStorage: { group: 'admin' },
  /** Have SQL or code of one's own read whatever tables it names: decided at the root, whatever table it is for. */
  ReadAnyTable: { group: 'admin' },
  /** Receive storage credentials with the description of a table. */
  VendCredentials: { group: 'credentials' },
} as const satisfies Record<string, { readonly group: PermissionGroup }>

/** What a policy grants or denies: an operation, or an effect that hides in one. */
export type Permission = OperationName | keyof typeof extraPermissions

/** All permissions, operations first. */
export const permissionNames: readonly Permission[] = [
  ...operationNames,
  ...(Object.keys(extraPermissions) as (keyof typeof extraPermissions)[]),
]

/** The names by which a policy can speak of several permissions at once: the groups, and unions of groups. */
export const permissionGroups: ReadonlyMap<string, readonly Permission[]> = new Map([
  ...(['browse', 'query', 'write', 'create', 'commit', 'admin', 'drop', 'credentials'] as const).map(
    (group) => [group, permissionsInGroup(group)] as const,
  ),
  ['read', [...permissionsInGroup('browse'), ...permissionsInGroup('query')]] as const,
  ['all', permissionNames] as const,
])

function permissionsInGroup(group: PermissionGroup): Permission[] {
  return permissionNames.filter((name) => groupForPermission(name) === group)
}

function groupForPermission(name: Permission): PermissionGroup {
  return name in operations
    ? operations[name as OperationName].group
    : extraPermissions[name as keyof typeof extraPermissions].group
}
