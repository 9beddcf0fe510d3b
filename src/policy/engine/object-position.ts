import {
  extraPermissions,
  getNamespaceDepth,
  getOperation,
  type Identifier,
  isEffectPermission,
  isInNamespace,
  isOperationName,
  type ObjectKind,
  operationNames,
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

/** Those to which restrictions leave a part of a table. They deny all others. */
export const readingOperations: readonly Permission[] = operationNames.filter(
  (name) => getOperation(name).readsPart !== undefined,
)

export function readsPart(permission: Permission): boolean {
  return readingOperations.includes(permission)
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
