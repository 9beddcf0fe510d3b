import {
  type Operation,
  getOperation,
  isOperationName,
  operationNames,
  type OperationName,
  type RequirementDefinition,
  type RequirementTarget,
  type ObjectKind,
} from './operations.ts'
import { isEffectPermission, type EffectPermission } from './permissions.ts'
import type { Identifier } from './identifiers.ts'

/** Computes a value once for each operation, and keeps it for as long as there is the operation. */
export function cacheByOperation<Value>(
  create: (operation: Operation) => Value,
): (operation: Operation) => Value {
  const known = new WeakMap<Operation, { readonly value: Value }>()
  return (operation) => {
    let computed = known.get(operation)
    if (computed === undefined) known.set(operation, (computed = { value: create(operation) }))
    return computed.value
  }
}

/** A permission that a request requires besides that of its operation. */
export interface Requirement extends RequirementDefinition {
  readonly permission: OperationName | EffectPermission
  readonly on: RequirementTarget
  /** Without the permission the request continues, and what it would give is removed from the response. */
  readonly isWithheld: boolean
  /** The permission on the root that a reference which names no object requires. */
  readonly unresolved: OperationName | EffectPermission | undefined
}

/**
 * Lists the permissions that requests for an operation may require besides its own, in the order in which they are
 * decided. Those of the entries of a batch and of jobs are not among them: they are the permissions of other operations.
 */
export const getRequirements: (operation: Operation) => readonly Requirement[] = cacheByOperation(
  ({ requires, vends }) => [
    ...requires.map(completeRequirement),
    ...(vends ? [{ ...completeRequirement(credentialsInResponse), isWithheld: true }] : []),
  ],
)

const credentialsInResponse = { permission: 'VendCredentials', requiredBy: 'vend_credentials' }

function completeRequirement(definition: RequirementDefinition): Requirement {
  const { permission, on = 'itself' } = definition
  const unresolved = typeof on === 'object' && 'unresolved' in on ? parsePermission(on.unresolved) : undefined
  return { ...definition, permission: parsePermission(permission), on, isWithheld: false, unresolved }
}

function parsePermission(name: string): OperationName | EffectPermission {
  if (isOperationName(name) || isEffectPermission(name)) return name
  throw new Error(`${name} is not a permission`)
}

// A name that does not exist fails at startup.
for (const name of operationNames) getRequirements(getOperation(name))

/** The permission that moving an object requires on its new id. */
export const destinationPermission = findDestinationPermission()

function findDestinationPermission(): OperationName | EffectPermission {
  for (const name of operationNames) {
    const found = getRequirements(getOperation(name)).find(({ on }) => on === 'destination')
    if (found !== undefined) return found.permission
  }
  throw new Error('no operation requires a permission on a destination')
}

/** Whether a request may require permissions on other objects than its own, or on those of batch entries. */
export function mayRequireOtherObjects(operation: Operation): boolean {
  return operation.entries !== undefined || getRequirements(operation).some(({ on }) => !isOnOwnObject(on))
}

/** Whether the permission is required on the object of the route, or a branch of it. */
export function isOnOwnObject(on: RequirementTarget): boolean {
  return on === 'itself' || on === 'source branch'
}

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
