import { factsFormat, parseFactDetails } from '../records/fact-details.ts'
import type { Details, IntentEntry, RefusalEntry } from '../records/audit-record.ts'
import type { Identifier } from '../../catalog-api/identifiers.ts'
import {
  findOperation,
  getOperation,
  isOperationName,
  type ObjectKind,
  type Operation,
} from '../../catalog-api/operations.ts'
import { permissionNames, type Permission } from '../../catalog-api/permissions.ts'
import type { RuleReference } from '../../policy/engine/decision.ts'
import { objectKindOfPermission } from '../../policy/engine/object-position.ts'
import {
  getRequirements,
  isOnOwnObject,
  mayRequireOtherObjects,
  type Requirement,
} from '../../catalog-api/requirements.ts'
import { operationFactsOf, type KnownFacts } from '../../policy/conditions/operation-facts.ts'
import { constantFacts, permissionFacts, requirementFacts } from '../../policy/conditions/permission-facts.ts'
import type { OperationFacts } from '../../policy/conditions/authorization-request.ts'

export interface RecordedCall extends Pick<
  IntentEntry,
  'operation' | 'id' | 'principal' | 'client' | 'objects' | 'facts' | 'details' | 'request'
> {
  readonly time: string
  readonly rule?: RuleReference
  readonly wasAllowed: boolean
  readonly refused?: Permission | undefined
  /** The restrictions of a read. */
  readonly restrictedBy?: readonly RuleReference[] | undefined
}

export interface RecordedPermission {
  readonly permission: Permission
  readonly kind: ObjectKind
  readonly id: Identifier
  /** False if the log does not show whether it was required. */
  readonly isCertain: boolean
  /** Whether it was also required on all descendants. */
  readonly includesDescendants: boolean
  /**
   * What decides if no rule matches: the entries of a batch, the visible objects of a listing, or the operation that
   * started a job.
   */
  readonly fallback: 'entries-decide' | 'visibility-decides' | 'job-decides' | undefined
  /** Facts that the log does not contain are pending. */
  readonly facts: OperationFacts
}

/** Lists the permissions that the call required as far as the log shows, that of its operation first. */
export function listRequiredPermissions(call: RecordedCall): readonly RecordedPermission[] {
  const { id, objects = [], wasAllowed, refused } = call
  const operation = findOperation(call.operation)
  if (operation === undefined) return [extraPermission(call)]
  // The log contains no facts of reads and refused requests.
  const hasCompleteObjects = wasAllowed && call.facts === factsFormat
  const hasRecordedFacts = hasCompleteObjects && operation.effect !== 'read'
  const readFacts = (one: Operation, details: Details | undefined): KnownFacts =>
    hasRecordedFacts ? parseFactDetails(one, details ?? {}) : unrecordedFacts(one)
  const facts = readFacts(operation, call.details)
  const common = {
    id,
    kind: operation.object,
    isCertain: true,
    includesDescendants: false,
    fallback: undefined,
  }
  const own: RecordedPermission = {
    ...common,
    permission: operation.name,
    fallback: getFallback(operation, objects.length > 0),
    facts: operationFactsOf(operation, id, facts),
  }
  const inner = objects.map((other): RecordedPermission => {
    const { operation: permission } = other
    if (operation.entries !== undefined && isOperationName(permission)) {
      const entry = getOperation(permission)
      const stated = operationFactsOf(entry, other.id, readFacts(entry, other.details))
      return { ...common, permission, kind: entry.object, id: other.id, facts: stated }
    }
    if (operation.namesJob && isOperationName(permission)) {
      const started = getOperation(permission)
      const stated = operationFactsOf(started, other.id, unrecordedFacts(started))
      return { ...common, permission, kind: started.object, id: other.id, facts: stated }
    }
    const requirement = findRequirement(operation, permission)
    return {
      ...common,
      permission,
      kind: kindOfRequirement(requirement, permission, operation),
      id: other.id,
      includesDescendants: requirement?.on === 'beneath',
      facts: recordedFacts(requirement, permission, operation, id, facts),
    }
  })
  const unrecordedNames = hasCompleteObjects ? [] : unrecordedPermissions(operation, wasAllowed, refused)
  const unrecorded = unrecordedNames
    .filter((permission) => !inner.some((other) => other.permission === permission))
    .map((permission): RecordedPermission => {
      const requirement = findRequirement(operation, permission)
      const innerFacts = recordedFacts(requirement, permission, operation, id, facts)
      return { ...common, permission, isCertain: permission === refused, facts: innerFacts }
    })
  return [own, ...inner, ...unrecorded]
}

/** The permission of an extra operation. It states no facts, so neither its declaration nor its body matters. */
function extraPermission({ operation: permission, id }: RecordedCall): RecordedPermission {
  const facts = permissionFacts(permission, id, {})
  const common = { isCertain: true, includesDescendants: false, fallback: undefined }
  return { ...common, permission, kind: objectKindOfPermission(permission), id, facts }
}

function findRequirement(operation: Operation, permission: Permission): Requirement | undefined {
  return getRequirements(operation).find((requirement) => requirement.permission === permission)
}

function kindOfRequirement(
  requirement: Requirement | undefined,
  permission: Permission,
  { object }: Operation,
): ObjectKind {
  const isElsewhere = requirement?.on === 'root' || typeof requirement?.on === 'object'
  return isElsewhere ? objectKindOfPermission(permission) : object
}

/** A permission that the operation does not require, as records of another release may name, has any facts. */
function recordedFacts(
  requirement: Requirement | undefined,
  permission: Permission,
  operation: Operation,
  id: Identifier,
  facts: KnownFacts,
): OperationFacts {
  return requirement === undefined
    ? constantFacts(permission)
    : requirementFacts(requirement, operation, id, facts)
}

function unrecordedPermissions(
  operation: Operation,
  wasAllowed: boolean,
  refused: Permission | undefined,
): readonly Permission[] {
  const own = refused === undefined || refused === operation.name ? [] : [refused]
  // Refused requests do not record other objects, either.
  if (!wasAllowed && mayRequireOtherObjects(operation)) return own
  const onOwnObject = getRequirements(operation).filter(
    ({ on, isWithheld }) => isOnOwnObject(on) && !isWithheld,
  )
  return [...new Set([...own, ...onOwnObject.map(({ permission }) => permission)])]
}

function getFallback(
  { entries, lists, namesJob }: Operation,
  hasObjects: boolean,
): RecordedPermission['fallback'] {
  if (entries !== undefined || (namesJob && hasObjects)) return 'entries-decide'
  if (namesJob) return 'job-decides'
  return lists === undefined ? undefined : 'visibility-decides'
}

function unrecordedFacts({ facts }: Operation): KnownFacts {
  return { stated: {}, pendingFacts: new Set(facts.map(([fact]) => fact)) }
}

/** Parses the refused permission from the text of what the request needs; it may concern another object. */
export function parseRefusedPermission({ operation, details }: RefusalEntry): Permission | undefined {
  const definition = operation && findOperation(operation)
  if (definition === undefined || mayRequireOtherObjects(definition)) return undefined
  const needs = details?.['needs']
  const named = typeof needs === 'string' ? /^\w+/.exec(needs)?.[0] : undefined
  return permissionNames.find((permission) => permission === named)
}
