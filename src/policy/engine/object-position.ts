import type { Identifier } from '../../catalog-api/identifiers.ts'
import { getNamespaceDepth, isInNamespace } from '../../catalog-api/object-kinds.ts'
import type { ObjectKind } from '../../catalog-api/operations.ts'
import type { Permission } from '../../catalog-api/permissions.ts'
import { objectKindOfPermission } from '../language/permission-object-kind.ts'

/** The namespace of an object, and its name in it; undefined for a namespace. */
export interface ObjectPosition {
  readonly namespace: Identifier
  readonly table: string | undefined
}

export function objectPosition(kind: ObjectKind, id: Identifier): ObjectPosition {
  const depth = getNamespaceDepth(kind, id)
  return { namespace: id.slice(0, depth), table: id[depth] }
}

/** Whether the permission is about tables and other objects in namespaces. */
export function isNamespaceMember(permission: Permission): boolean {
  return isInNamespace(objectKindOfPermission(permission))
}

export function namespaceKey(id: Identifier): string {
  // Names contain no slash.
  return id.join('/')
}
