import { factsFormat, factsOfDetails } from '../audit/fact-details.ts'
import type { Details, IntentEntry, RefusalEntry } from '../audit/records.ts'
import type { Identifier } from '../interface/identifiers.ts'
import {
  operationNamed,
  operations,
  type ObjectKind,
  type Operation,
  type OperationName,
} from '../interface/operations.ts'
import { permissionNames, type Permission } from '../interface/permissions.ts'
import type { RuleReference } from './decision.ts'
import { kindOf } from './object-kind.ts'
import {
  asksElsewhere,
  factsOfFurtherNeed,
  factsOfOperation,
  furtherPermissions,
  type ReadFacts,
} from './operation-facts.ts'
import type { OperationFacts } from './question.ts'

/** A call as the log tells it. */
export interface RecordedCall extends Pick<
  IntentEntry,
  'operation' | 'id' | 'principal' | 'client' | 'objects' | 'facts' | 'details' | 'request'
> {
  readonly time: string
  readonly rule?: RuleReference
  readonly wasAllowed: boolean
  /** What was refused, where the log tells. */
  readonly refused?: Permission | undefined
}

/** What a recorded call needed the policies to allow. */
export interface RecordedNeed {
  readonly permission: Permission
  readonly kind: ObjectKind
  readonly id: Identifier
  /** Whether it was needed, or may have been: the log does not tell. */
  readonly certain: boolean
  /** Whether it was needed on everything beneath, too. */
  readonly beneath: boolean
  /** What decides if no rule speaks of this one: the entries of a batch, or what a listing may show. */
  readonly otherwise: 'entries-decide' | 'what-is-visible' | undefined
  /** Those that the log does not tell are pending. */
  readonly facts: OperationFacts
}

/** Everything that the call needed, its own operation first, as far as the log tells. */
export function needsOf(call: RecordedCall): readonly RecordedNeed[] {
  const { id, objects = [], wasAllowed, refused } = call
  const operation = operationNamed(call.operation)
  // Of reads, and of requests that were refused, the log holds no facts.
  const isTold = wasAllowed && call.facts === factsFormat
  const hasFacts = isTold && operation.effect !== 'read'
  const factsIn = (one: Operation, details: Details | undefined): ReadFacts =>
    hasFacts ? factsOfDetails(one, details ?? {}) : notRecorded(one)
  const facts = factsIn(operation, call.details)
  const common = { id, kind: operation.object, certain: true, beneath: false, otherwise: undefined }
  const own: RecordedNeed = {
    ...common,
    permission: operation.name,
    otherwise: otherwiseOf(operation),
    facts: factsOfOperation(operation, id, facts),
  }
  const inner = objects.map((other): RecordedNeed => {
    const { operation: permission } = other
    if (operation.entries !== undefined && permission in operations) {
      const entry = operationNamed(permission as OperationName)
      const stated = factsOfOperation(entry, other.id, factsIn(entry, other.details))
      return { ...common, permission, kind: entry.object, id: other.id, facts: stated }
    }
    const beneath = operation.object === 'namespace' && kindsBeneath.has(permission)
    const needed = factsOfFurtherNeed(permission, operation, id, facts)
    const kind = permission === 'ReadAnyTable' ? kindOf(permission) : operation.object
    return { ...common, permission, kind, id: other.id, beneath, facts: needed }
  })
  const others = isTold ? [] : othersOf(operation, wasAllowed, refused)
  const more = others
    .filter((permission) => !inner.some((need) => need.permission === permission))
    .map((permission): RecordedNeed => {
      const needed = factsOfFurtherNeed(permission, operation, id, facts)
      return { ...common, permission, certain: permission === refused, facts: needed }
    })
  return [own, ...inner, ...more]
}

/** What is needed on everything beneath a namespace that is dropped or replaced. */
const kindsBeneath: ReadonlySet<Permission> = new Set<Permission>(['DropTable', 'DropNamespace'])

/** Permissions that the call may have needed, which the log does not tell. */
function othersOf(
  operation: Operation,
  wasAllowed: boolean,
  refused: Permission | undefined,
): readonly Permission[] {
  const own = refused === undefined || refused === operation.name ? [] : [refused]
  // What such a request asked for elsewhere is not told either.
  if (!wasAllowed && asksElsewhere(operation)) return own
  return [...new Set([...own, ...furtherPermissions(operation)])]
}

function otherwiseOf({ entries, lists }: Operation): RecordedNeed['otherwise'] {
  if (entries !== undefined) return 'entries-decide'
  return lists === undefined ? undefined : 'what-is-visible'
}

/** The facts of a request of which nothing was recorded. */
function notRecorded({ facts }: Operation): ReadFacts {
  return { stated: {}, pending: new Set(facts.map(([fact]) => fact)) }
}

/** What was not allowed, by the words of the refusal; it may have been asked of another object. */
export function refusedPermission({ operation, details }: RefusalEntry): Permission | undefined {
  if (operation === undefined || asksElsewhere(operationNamed(operation))) return undefined
  const needs = details?.['needs']
  const named = typeof needs === 'string' ? /^you are not allowed (\w+)/.exec(needs)?.[1] : undefined
  return permissionNames.find((permission) => permission === named)
}
