import { getKeys } from '../lib/index.ts'
import {
  basicGroups,
  getOperation,
  isOperationName,
  operationNames,
  type AnyOperationName,
  type ExtraOperationName,
  type ObjectKind,
  type Operation,
  type PermissionGroup,
} from './operations.ts'

/** Permissions for effects of a parameter or a body that the permission for the operation does not include. */
export const extraPermissions = {
  /** Replace the rows of an existing table. */
  OverwriteTable: {
    group: 'drop',
    object: 'table',
    facts: 'of the replaced table',
    isChange: true,
    isDelegated: true,
  },
  /** Choose the storage location of a table instead of leaving it to the catalog. */
  ChooseLocation: { group: 'admin', object: 'table', facts: 'of the request', isDelegated: false },
  /** Choose the storage access of a table: endpoint, bucket, account. */
  ChooseStorage: { group: 'admin', object: 'table', facts: 'of the request', isDelegated: false },
  /** Run SQL or code that reads arbitrary tables. Decided at the root, for requests on any table. */
  ReadAnyTable: { group: 'admin', object: 'none', facts: 'none', isDelegated: false },
  /** Let a column of a table be computed by a registered function. Decided on the function. */
  UseFunction: { group: 'admin', object: 'function', facts: 'none', isDelegated: false },
  /** Hand a secret to code, which can read it. Decided on the secret. */
  UseSecret: { group: 'credentials', object: 'secret', facts: 'none', isDelegated: false },
  VendCredentials: {
    group: 'credentials',
    object: 'table',
    facts: 'of the request, for every branch',
    isDelegated: false,
  },
  /** Write columns whose values can name objects that the catalog reads with its own credential. Not in `all`. */
  ReferenceData: { group: 'references', object: 'table', facts: 'branch of the request', isDelegated: false },
} as const satisfies Record<string, EffectPermissionDefinition>

interface EffectPermissionDefinition {
  readonly group: PermissionGroup
  /** Kind of the objects that it is decided on. */
  readonly object: ObjectKind
  /** Facts of a decision on the object of the request. */
  readonly facts:
    | 'of the request'
    | 'of the request, for every branch'
    | 'branch of the request'
    | 'of the replaced table'
    | 'none'
  /** Whether it permits a change by itself; the others are about how an operation does its work. */
  readonly isChange?: true
  /** Whether policies of delegated namespaces may allow it: its effects must stay in the namespace. */
  readonly isDelegated: boolean
}

export type EffectPermission = keyof typeof extraPermissions

export type Permission = AnyOperationName | EffectPermission

export function isEffectPermission(name: string): name is EffectPermission {
  return Object.hasOwn(extraPermissions, name)
}

/** Whether policies of delegated namespaces may allow the permission. */
export function isDelegated(permission: Permission): boolean {
  if (isEffectPermission(permission)) return extraPermissions[permission].isDelegated
  return isOperationName(permission) && getOperation(permission).isDelegated
}

/** Whether a permission is that of an operation which only the settings declare. */
export function isExtraOperationName(permission: Permission): permission is ExtraOperationName {
  return !isOperationName(permission) && !isEffectPermission(permission)
}

/** The permissions that the policies of a gateway can name. Immutable. */
export interface PermissionTable {
  /** Permissions of the catalog API, then those of extra operations. */
  readonly names: readonly Permission[]
  /** Groups with their permissions. Permissions of the group `references` or of no group are not even in `all`. */
  readonly groups: ReadonlyMap<string, readonly Permission[]>
  /** All permissions to change something, also those of no group. */
  readonly changes: readonly Permission[]
}

/** Groups that contain other groups, besides their own permissions. */
const groupParts: ReadonlyMap<string, readonly PermissionGroup[]> = new Map([
  ['admin', ['index', 'schema', 'admin']],
  ['read', ['browse', 'query']],
])

/** Returns the groups that a group consists of: itself if it has no others beneath. */
export function listGroupParts(group: string): readonly string[] {
  return groupParts.get(group) ?? [group]
}

function describeOperation({ name, group, effect }: Operation) {
  return { name, group, isChange: effect !== 'read' }
}

function describeEffect(name: EffectPermission) {
  return { name, group: extraPermissions[name].group, isChange: 'isChange' in extraPermissions[name] }
}

export function createPermissionTable(extraOperations: readonly Operation[]): PermissionTable {
  const all = [
    ...operationNames.map((name) => describeOperation(getOperation(name))),
    ...getKeys(extraPermissions).map(describeEffect),
    ...extraOperations.map(describeOperation),
  ]
  const select = (isSelected: (one: (typeof all)[number]) => boolean): readonly Permission[] =>
    all.filter(isSelected).map(({ name }) => name)
  const isInAll = ({ group }: (typeof all)[number]): boolean => ![undefined, 'references'].includes(group)
  return {
    names: select(() => true),
    groups: new Map([
      ...[...basicGroups, 'read'].map(
        (name) => [name, select(({ group = '' }) => listGroupParts(name).includes(group))] as const,
      ),
      ['change', select((one) => one.isChange && isInAll(one))],
      ['all', select(isInAll)],
    ]),
    changes: select(({ isChange }) => isChange),
  }
}

/** The permissions of the catalog API and their groups, without extra operations. */
export const {
  names: permissionNames,
  groups: permissionGroups,
  changes: changePermissions,
} = createPermissionTable([])
