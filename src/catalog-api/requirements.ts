import { memoizeByObject } from '../lib/index.ts'
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

/** A permission that a request requires besides that of its operation. */
export interface Requirement extends RequirementDefinition {
  readonly permission: OperationName | EffectPermission
  readonly on: RequirementTarget
  /** Without the permission the request continues, and credentials are removed from the response. */
  readonly isWithheld: boolean
}

/**
 * Lists the permissions that requests for an operation may require besides its own, in the order in which they are
 * decided. Those of the entries of a batch and of jobs are not among them: they are the permissions of other operations.
 */
export const getRequirements: (operation: Operation) => readonly Requirement[] = memoizeByObject(
  ({ requires, vends }) => [
    ...requires.map(completeRequirement),
    ...(vends ? [{ ...completeRequirement(credentialsInResponse), isWithheld: true }] : []),
  ],
)

const credentialsInResponse = { permission: 'VendCredentials', requiredBy: 'vend_credentials' }

function completeRequirement(definition: RequirementDefinition): Requirement {
  const { permission, on = 'itself' } = definition
  if (!isOperationName(permission) && !isEffectPermission(permission))
    throw new Error(`${permission} is not a permission`)
  return { ...definition, permission, on, isWithheld: false }
}

// A name that does not exist fails at startup.
for (const name of operationNames) getRequirements(getOperation(name))

/** Whether a request may require permissions on other objects than its own, or on those of batch entries. */
export function mayRequireOtherObjects(operation: Operation): boolean {
  return operation.entries !== undefined || getRequirements(operation).some(({ on }) => !isOnOwnObject(on))
}

/** Whether the permission is required on the object of the route, or a branch of it. */
export function isOnOwnObject(on: RequirementTarget): boolean {
  return on === 'itself' || on === 'source branch'
}

/**
 * By kind of object: the set of names in a namespace that its name is one of, if it has one, and how many parts of its id are
 * behind those of the namespace. The id of a transaction is that of its table, and one part more.
 */
const objectKinds = {
  none: { nameSpace: undefined, partsInNamespace: 0 },
  namespace: { nameSpace: 'namespaces', partsInNamespace: 0 },
  table: { nameSpace: 'tables', partsInNamespace: 1 },
  materialized_view: { nameSpace: 'tables', partsInNamespace: 1 },
  view: { nameSpace: 'tables', partsInNamespace: 1 },
  function: { nameSpace: 'functions', partsInNamespace: 1 },
  secret: { nameSpace: 'secrets', partsInNamespace: 1 },
  transaction: { nameSpace: undefined, partsInNamespace: 2 },
} as const satisfies Record<ObjectKind, object>

/** A name of one kind of object is taken for all kinds of its name space. */
export function getNameSpace(kind: ObjectKind) {
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
