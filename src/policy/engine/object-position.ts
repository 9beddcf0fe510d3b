import {
  extraPermissions,
  getNamespaceDepth,
  getOperation,
  type Identifier,
  isEffectPermission,
  isInNamespace,
  isOperationName,
  type ObjectKind,
  type Permission,
} from '../../catalog-api/index.ts'

/** The namespace of an object, and its name in it; undefined for a namespace. */
export interface ObjectPosition {
  readonly namespace: Identifier
  readonly table: string | undefined
}

export function objectPosition(kind: ObjectKind, id: Identifier): ObjectPosition {
  const depth = getNamespaceDepth(kind, id)
  return { namespace: id.slice(0, depth), table: id[depth] }
}

/** Whether restrictions leave a part of a table to the permission. They deny all others. */
export function readsPart(permission: Permission): boolean {
  return isOperationName(permission) && getOperation(permission).readsPart !== undefined
}

export function isNamespaceMember(permission: Permission): boolean {
  return isInNamespace(objectKindOfPermission(permission))
}

export function namespaceKey(id: Identifier): string {
  // Names contain no slash.
  return id.join('/')
}

/** The kind of the objects that a permission is decided on. Extra operations act on tables. */
export function objectKindOfPermission(permission: Permission): ObjectKind {
  if (isEffectPermission(permission)) return extraPermissions[permission].object
  return isOperationName(permission) ? getOperation(permission).object : 'table'
}
