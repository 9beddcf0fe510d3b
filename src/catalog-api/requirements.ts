import { cacheByOperation } from './cache-by-operation.ts'
import {
  getOperation,
  isOperationName,
  operationNames,
  type Operation,
  type OperationName,
  type RequirementCondition,
  type RequirementDefinition,
  type RequirementTarget,
} from './operations.ts'
import { isEffectPermission, type EffectPermission } from './permissions.ts'

/** A permission that a request requires besides that of its operation. */
export interface Requirement {
  readonly permission: OperationName | EffectPermission
  readonly on: RequirementTarget
  /** Undefined for always. */
  readonly when: RequirementCondition | undefined
  /** The part of the request that requires it, for messages. */
  readonly requiredBy: string
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

function completeRequirement({
  permission,
  on = 'itself',
  when,
  requiredBy,
}: RequirementDefinition): Requirement {
  const unresolved = typeof on === 'object' && 'unresolved' in on ? parsePermission(on.unresolved) : undefined
  return { permission: parsePermission(permission), on, when, requiredBy, isWithheld: false, unresolved }
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
