import {
  findOperation,
  mayRequireOtherObjects,
  type Operation,
  type Permission,
  permissionNames,
} from '../../catalog-api/index.ts'
import type { KnownCaller, RecordedCall } from '../../policy/index.ts'
import type { AuditedPrincipal, AuditRecord, Details, IntentEntry, RefusalEntry } from './audit-record.ts'
import { parseFactDetails } from './fact-details.ts'
import { isPseudonym } from './redaction.ts'

/** Returns the call that policies decided according to a record; undefined if there is none. */
export function readRecordedCall(record: AuditRecord): RecordedCall | undefined {
  if (record.kind !== 'intent' && record.kind !== 'refusal') return undefined
  const { operation, id, principal, time, request, client, rule } = record
  if (operation === undefined || id === undefined || principal === undefined) return undefined
  const common = {
    time,
    request,
    operation,
    id,
    principal: principal.name,
    caller: readCaller(principal),
    clientAddress: isPseudonym(client) ? undefined : client,
    before: { allowed: record.kind === 'intent', ...(rule && { rule }) },
  }
  if (record.kind === 'intent') return { ...common, ...readAllowed(record) }
  if (record.reason !== 'no_rule' && record.reason !== 'denied') return undefined
  const refused = parseRefusedPermission(record)
  return { ...common, refused, facts: undefined, objects: [] }
}

function readCaller({ name, method, credentialId, groups, groupsOmitted }: AuditedPrincipal): KnownCaller {
  const key = method === 'api-key' ? credentialId : ''
  const hasAllGroups = groups !== undefined && groupsOmitted === undefined
  return {
    isAnonymous: method === 'anonymous',
    user: isPseudonym(name) ? undefined : name,
    key: isPseudonym(key) ? undefined : key,
    groups: new Set(groups),
    excludedGroups: hasAllGroups ? 'all' : new Set(),
  }
}

function readAllowed({ operation, effect, details, objects = [] }: IntentEntry) {
  const definition = findOperation(operation)
  // The details of a read, and of the operation that started a job, are no facts.
  const readFacts = (one: Operation | undefined, recorded: Details = {}) =>
    one === undefined || effect === 'read' ? undefined : parseFactDetails(one, recorded)
  return {
    refused: undefined,
    facts: readFacts(definition, details),
    objects: objects.map((object) => ({
      permission: object.operation,
      id: object.id,
      facts: definition?.namesJob ? undefined : readFacts(findOperation(object.operation), object.details),
    })),
  }
}

/** Parses the refused permission from the text of what the request requires; it may concern another object. */
function parseRefusedPermission({ operation, details }: RefusalEntry): Permission | undefined {
  const definition = operation && findOperation(operation)
  if (definition === undefined || mayRequireOtherObjects(definition)) return undefined
  const required = details?.['needs']
  const named = typeof required === 'string' ? /^\w+/.exec(required)?.[0] : undefined
  return permissionNames.find((permission) => permission === named)
}
