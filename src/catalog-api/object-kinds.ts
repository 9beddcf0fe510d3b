import type { Identifier } from './identifiers.ts'
import type { ObjectKind } from './operations.ts'

/** A set of names in a namespace: a name of one kind of object is taken for all kinds of the space. */
type NameSpace = 'namespaces' | 'tables' | 'functions' | 'secrets'

interface ObjectKindProperties {
  /** Undefined if the objects have no names of their own in a namespace. */
  readonly nameSpace: NameSpace | undefined
  /** Parts of an id behind those of the namespace. The id of a transaction is that of its table, and one part more. */
  readonly partsInNamespace: 0 | 1 | 2
}

const objectKinds: Readonly<Record<ObjectKind, ObjectKindProperties>> = {
  none: { nameSpace: undefined, partsInNamespace: 0 },
  namespace: { nameSpace: 'namespaces', partsInNamespace: 0 },
  table: { nameSpace: 'tables', partsInNamespace: 1 },
  materialized_view: { nameSpace: 'tables', partsInNamespace: 1 },
  view: { nameSpace: 'tables', partsInNamespace: 1 },
  function: { nameSpace: 'functions', partsInNamespace: 1 },
  secret: { nameSpace: 'secrets', partsInNamespace: 1 },
  transaction: { nameSpace: undefined, partsInNamespace: 2 },
}

export function getNameSpace(kind: ObjectKind): NameSpace | undefined {
  return objectKinds[kind].nameSpace
}

/** Whether objects of the kind are in a namespace, directly or as part of a table. */
export function isInNamespace(kind: ObjectKind): boolean {
  return objectKinds[kind].partsInNamespace > 0
}

/** Returns the length of the namespace in an id. The id of an object in a namespace has a part behind it. */
export function getNamespaceDepth(kind: ObjectKind, id: Identifier): number {
  return Math.max(0, id.length - objectKinds[kind].partsInNamespace)
}
