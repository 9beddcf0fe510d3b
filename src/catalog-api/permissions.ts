import { getKeys } from '../lib/index.ts'
import {
  basicGroups,
  getOperation,
  isOperationName,
  operations,
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
  /** Run SQL or code that reads arbitrary tables. Decided at the root, whatever table the request is for. */
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
  /** Whether what it permits is a change by itself; the others are about how an operation does its work. */
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
  /** Groups with their permissions. The group `references` and what is in no group are not even in `all`. */
  readonly groups: ReadonlyMap<string, readonly Permission[]>
  /** Everything that changes something, also what is in no group. */
  readonly changes: readonly Permission[]
}

/** Groups that consist of other groups, and of what is directly in them. */
const groupParts: ReadonlyMap<string, readonly PermissionGroup[]> = new Map([
  ['admin', ['index', 'schema', 'admin']],
  ['read', ['browse', 'query']],
])

/** Returns the groups that a group consists of: itself if it has no others beneath. */
export function listGroupParts(group: string): readonly string[] {
  return groupParts.get(group) ?? [group]
}

const changingEffects: ReadonlySet<Permission> = new Set(
  getKeys(extraPermissions).filter((name) => 'isChange' in extraPermissions[name]),
)

export function createPermissionTable(extraOperations: readonly Operation[]): PermissionTable {
  const groupByName = new Map<Permission, PermissionGroup | undefined>([
    ...operationNames.map((name) => [name, operations[name].group] as const),
    ...getKeys(extraPermissions).map((name) => [name, extraPermissions[name].group] as const),
    ...extraOperations.map(({ name, group }) => [name, group] as const),
  ])
  const names = [...groupByName.keys()]
  const effects = new Map<Permission, Operation['effect']>(
    [...operationNames.map(getOperation), ...extraOperations].map(({ name, effect }) => [name, effect]),
  )
  const changes = names.filter((name) =>
    isEffectPermission(name) ? changingEffects.has(name) : effects.get(name) !== 'read',
  )
  const inGroup = (group: string): Permission[] =>
    names.filter((name) => listGroupParts(group).includes(groupByName.get(name) ?? ''))
  const isInAll = (name: Permission): boolean => ![undefined, 'references'].includes(groupByName.get(name))
  return {
    names,
    groups: new Map<string, readonly Permission[]>([
      ...[...basicGroups, 'read'].map((group) => [group, inGroup(group)] as const),
      ['change', changes.filter(isInAll)],
      ['all', names.filter(isInAll)],
    ]),
    changes,
  }
}

/** The permissions of the catalog API and their groups, without extra operations. */
export const {
  names: permissionNames,
  groups: permissionGroups,
  changes: changePermissions,
} = createPermissionTable([])
