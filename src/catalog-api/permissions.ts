import { getKeys } from '../lib/get-keys.ts'
import {
  isOperationName,
  operations,
  operationNames,
  type PermissionGroup,
  type OperationName,
} from './operations.ts'

/** Permissions for effects of a parameter or a body that the permission for the operation does not include. */
export const extraPermissions = {
  /** Replace the rows of an existing table: CreateTable, RegisterTable and InsertIntoTable with mode overwrite. */
  OverwriteTable: { group: 'drop' },
  /** Choose the storage location of a table instead of leaving it to the catalog. */
  ChooseLocation: { group: 'admin' },
  /** Choose the storage access of a table: endpoint, bucket, account. */
  ChooseStorage: { group: 'admin' },
  /** Run SQL or code that reads arbitrary tables. Decided at the root, whatever table the request is for. */
  ReadAnyTable: { group: 'admin' },
  VendCredentials: { group: 'credentials' },
} as const satisfies Record<string, { readonly group: PermissionGroup }>

export type Permission = OperationName | keyof typeof extraPermissions

export const permissionNames: readonly Permission[] = [...operationNames, ...getKeys(extraPermissions)]

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
  return isOperationName(name) ? operations[name].group : extraPermissions[name].group
}
