import type { Identifier } from '../../catalog-api/identifiers.ts'
import {
  findOperation,
  getOperation,
  isOperationName,
  type AnyOperationName,
  type ObjectKind,
  type Operation,
} from '../../catalog-api/operations.ts'
import type { Permission } from '../../catalog-api/permissions.ts'
import { getRequirements, mayRequireOtherObjects } from '../../catalog-api/requirements.ts'
import type { Principal } from '../../identity/index.ts'
import type { OperationFacts } from '../conditions/authorization-request.ts'
import {
  constantFacts,
  operationFactsOf,
  permissionFacts,
  requirementFacts,
  type KnownFacts,
} from '../conditions/permission-facts.ts'
import type { RuleReference } from '../engine/decision.ts'
import { objectKindOfPermission } from '../engine/object-position.ts'

/** A call in an audit log, as far as the log says. */
export interface RecordedCall {
  readonly time: string
  readonly request: string
  readonly operation: AnyOperationName
  readonly id: Identifier
  /** As recorded, also if that is a pseudonym. */
  readonly principal: string
  readonly caller: RecordedCaller
  /** Undefined if the record has a pseudonym. */
  readonly clientAddress: string | undefined
  readonly wasAllowed: boolean
  /** The rule that decided, of the policies with the revision. */
  readonly rule: RuleReference | undefined
  readonly policyRevision: string | undefined
  /** The restrictions of a read. */
  readonly restrictedBy: readonly RuleReference[]
  /** Undefined if the log has none, as of reads and denials. */
  readonly facts: KnownFacts | undefined
  /** All further permissions that an allowed call required. */
  readonly objects: readonly RecordedPermission[]
  /** The permission that was denied, if it is on the object of the call. */
  readonly refused: Permission | undefined
}

export interface RecordedCaller extends Pick<Principal, 'method' | 'issuer'> {
  /** The name, and the id of the API key. Undefined if the record has a pseudonym. */
  readonly user: string | undefined
  readonly key: string | undefined
  /** Undefined if groups are not recorded. */
  readonly groups: readonly string[] | undefined
  readonly hasOtherGroups: boolean
}

interface RecordedPermission {
  readonly permission: Permission
  readonly id: Identifier
  /** Those of the entry of a batch. */
  readonly facts: KnownFacts | undefined
}

/** A permission that a recorded call required. Facts that the log does not contain are pending. */
export interface RequiredPermission {
  readonly permission: Permission
  readonly kind: ObjectKind
  readonly id: Identifier
  readonly facts: OperationFacts
  /** False if the log does not show whether it was required. */
  readonly isCertain: boolean
  /** Whether it was also required on all descendants. */
  readonly includesDescendants?: boolean
  /** What decides if no rule does; undefined if that denies it. */
  readonly otherwise?:
    | 'entries'
    | 'what the listing may show'
    | 'the operation that started the job'
    | undefined
}

/** Lists the permissions that the call required as far as the log shows, that of its operation first. */
export function listRequiredPermissions(call: RecordedCall): readonly RequiredPermission[] {
  const { id, objects, wasAllowed, refused } = call
  const operation = findOperation(call.operation)
  // An extra operation states no facts, so neither its declaration nor its body matters.
  if (operation === undefined) return [{ ...requireExtra(call.operation, id), isCertain: true }]
  const facts = call.facts ?? unrecordedFacts(operation)
  const otherwise = whatElseDecides(operation, objects.length > 0)
  const own = { ...requireOperation(operation, id, facts), isCertain: true, otherwise }
  const require = (permission: Permission, on: Identifier) => requireBesides(operation, permission, on, facts)
  if (wasAllowed)
    return [
      own,
      ...objects.map((object) => {
        const { permission, id: on, facts: ofEntry } = object
        const isOfOthers = operation.entries !== undefined || operation.namesJob
        if (!isOfOthers || !isOperationName(permission))
          return { ...require(permission, on), isCertain: true }
        const inner = getOperation(permission)
        return { ...requireOperation(inner, on, ofEntry ?? unrecordedFacts(inner)), isCertain: true }
      }),
    ]
  // Denied calls do not record other objects.
  const further = mayRequireOtherObjects(operation)
    ? []
    : getRequirements(operation).flatMap(({ permission, isWithheld }) => (isWithheld ? [] : [permission]))
  const possible = new Set([...(refused === undefined ? [] : [refused]), ...further])
  possible.delete(operation.name)
  return [
    own,
    ...[...possible].map((permission) => ({ ...require(permission, id), isCertain: permission === refused })),
  ]
}

type Required = Omit<RequiredPermission, 'isCertain' | 'otherwise'>

function requireExtra(permission: Permission, id: Identifier): Required {
  return {
    permission,
    kind: objectKindOfPermission(permission),
    id,
    facts: permissionFacts(permission, id, {}),
  }
}

function requireOperation(operation: Operation, id: Identifier, facts: KnownFacts): Required {
  const { name, object } = operation
  return { permission: name, kind: object, id, facts: operationFactsOf(operation, id, facts) }
}

/** A permission that the operation does not require, as records of another release may name, has any facts. */
function requireBesides(
  operation: Operation,
  permission: Permission,
  id: Identifier,
  facts: KnownFacts,
): Required {
  const requirement = getRequirements(operation).find((one) => one.permission === permission)
  const isElsewhere = requirement?.on === 'root' || typeof requirement?.on === 'object'
  return {
    permission,
    kind: isElsewhere ? objectKindOfPermission(permission) : operation.object,
    id,
    facts: requirement ? requirementFacts(requirement, operation, id, facts) : constantFacts(permission),
    includesDescendants: requirement?.on === 'beneath',
  }
}

function whatElseDecides(
  { entries, lists, namesJob }: Operation,
  hasObjects: boolean,
): RequiredPermission['otherwise'] {
  if (entries !== undefined || (namesJob && hasObjects)) return 'entries'
  if (namesJob) return 'the operation that started the job'
  return lists === undefined ? undefined : 'what the listing may show'
}

function unrecordedFacts({ facts }: Operation): KnownFacts {
  return { stated: {}, pendingFacts: new Set(facts.map(([fact]) => fact)) }
}
