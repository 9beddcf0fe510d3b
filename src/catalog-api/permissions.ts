import { getKeys } from '../lib/get-keys.ts'
import {
  isOperationName,
  operations,
  operationNames,
  type AnyOperationName,
  type ExtraOperationName,
  type Operation,
  type PermissionGroup,
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

export type EffectPermission = keyof typeof extraPermissions

export type Permission = AnyOperationName | EffectPermission

export function isEffectPermission(name: string): name is EffectPermission {
  return Object.hasOwn(extraPermissions, name)
}

/** Whether a permission is that of an operation which only the settings declare. */
export function isExtraOperationName(permission: Permission): permission is ExtraOperationName {
  return !isOperationName(permission) && !isEffectPermission(permission)
}

/** The permissions that the policies of a gateway can name. Immutable. */
export interface PermissionTable {
  /** Operations that the settings declare. */
  readonly extraOperations: readonly Operation[]
  /** Permissions of the catalog API, then those of extra operations. */
  readonly names: readonly Permission[]
  /** Groups with their permissions. An extra operation without a group is in none, not even in `all`. */
  readonly groups: ReadonlyMap<string, readonly Permission[]>
}

/** The groups that the group `read` consists of. */
export const readGroups: readonly PermissionGroup[] = ['browse', 'query']

const basicGroups = ['browse', 'query', 'write', 'create', 'commit', 'admin', 'drop', 'credentials'] as const

export function createPermissionTable(extraOperations: readonly Operation[]): PermissionTable {
  const groupByName = new Map<Permission, PermissionGroup | undefined>([
    ...operationNames.map((name) => [name, operations[name].group] as const),
    ...getKeys(extraPermissions).map((name) => [name, extraPermissions[name].group] as const),
    ...extraOperations.map(({ name, group }) => [name, group] as const),
  ])
  const names = [...groupByName.keys()]
  const inGroup = (group: PermissionGroup): Permission[] =>
    names.filter((name) => groupByName.get(name) === group)
  return {
    extraOperations,
    names,
    groups: new Map<string, readonly Permission[]>([
      ...basicGroups.map((group) => [group, inGroup(group)] as const),
      ['read', readGroups.flatMap(inGroup)],
      ['all', names.filter((name) => groupByName.get(name) !== undefined)],
    ]),
  }
}

/** The permissions of the catalog API and their groups, without extra operations. */
export const { names: permissionNames, groups: permissionGroups } = createPermissionTable([])
