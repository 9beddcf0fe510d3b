import { operationNames, operations, type Permission } from '../../catalog-api/index.ts'
import { currentTimestamp, memoizeByObject } from '../../lib/index.ts'
import type {
  AuditedPrincipal,
  IntentEntry,
  IntentReference,
  ObjectId,
  OutcomeEntry,
  PassThroughEntry,
  RecordBodies,
  RecordKind,
  RefusalEntry,
  ResolvedEntry,
} from './audit-record.ts'
import { idToJson } from './json-text.ts'
import type { Redaction } from './redaction.ts'

/** A record that has no position in a chain yet. */
export interface UnchainedRecord {
  readonly kind: RecordKind
  readonly time: string
  /** Its own members as JSON, without braces. */
  readonly members: string
  readonly tables: readonly ObjectId[]
}

/** Creates a record, with the current time unless another is given. Throws `TypeError` if the body is not valid JSON. */
export function createRecord<Kind extends RecordKind>(
  kind: Kind,
  body: RecordBodies[Kind],
  tables: readonly ObjectId[] = [],
  time = currentTimestamp(),
): UnchainedRecord {
  return { kind, time, members: JSON.stringify(body).slice(1, -1), tables }
}

export function createOutcomeRecord(intent: IntentReference, entry: OutcomeEntry): UnchainedRecord {
  const { request, seq: intentSeq, tables } = intent
  const { result, status, version, versions, upload, durationMs, details } = entry
  const body = { request, intentSeq, result, status, version, versions, upload, durationMs, details }
  return createRecord('outcome', body, tables)
}

export function createResolvedRecord(intent: IntentReference, entry: ResolvedEntry): UnchainedRecord {
  const { request, seq: intentSeq, chain: intentChain, tables } = intent
  return createRecord('resolved', { request, intentSeq, intentChain, ...entry }, tables)
}

/** Creates request records with the current time. Ignores unlisted members. Throws `TypeError` for invalid JSON. */
export function createRequestRecordFactory(redaction: Redaction) {
  const redactPrincipal = memoizeByObject((principal: AuditedPrincipal) =>
    redaction.redactPrincipal(principal),
  )
  const redactCaller = ({ client, peer }: Pick<RefusalEntry, 'client' | 'peer'>) => ({
    client: redaction.redactAddress(client),
    peer: peer === undefined ? undefined : redaction.redactAddress(peer),
  })
  return {
    createIntent(entry: IntentEntry): UnchainedRecord {
      const { request, operation, id, objects, effect, policyRevision, upstream, database } = entry
      const body: IntentEntry = {
        request,
        operation,
        id,
        objects: objects?.map((object) => ({ ...object, details: redaction.redactDetails(object.details) })),
        effect,
        principal: redactPrincipal(entry.principal),
        rule: pickRule(entry.rule),
        restrictedBy: entry.restrictedBy?.map(pickRule),
        policyRevision,
        ...redactCaller(entry),
        context: redaction.redactContext(entry.context),
        upstream,
        database,
        before: entry.before,
        facts: entry.facts,
        details: redaction.redactDetails(entry.details),
      }
      return createRecord('intent', body, listTables(operation, id, objects))
    },
    createRefusal(entry: RefusalEntry): UnchainedRecord {
      const { request, status, reason, operation, id, principal, rule, policyRevision } = entry
      const body = {
        request,
        status,
        reason,
        operation,
        id,
        principal: principal && redactPrincipal(principal),
        rule: rule && pickRule(rule),
        policyRevision,
        ...redactCaller(entry),
        context: redaction.redactContext(entry.context),
        details: redaction.redactDetails(entry.details),
      }
      return createRecord('refusal', body, operation === undefined ? [] : listTables(operation, id ?? []))
    },
    createPassThrough(entry: PassThroughEntry): UnchainedRecord {
      const { request, prefix, method, upgrade, principal } = entry
      const path = entry.path.slice(0, maxPathLength)
      const caller = { principal: principal && redactPrincipal(principal), ...redactCaller(entry) }
      return createRecord('passThrough', { request, prefix, method, path, upgrade, ...caller })
    },
  }
}

const maxPathLength = 1024

function pickRule({ policy, rule, file, line, until }: IntentEntry['rule']): IntentEntry['rule'] {
  return { policy, rule, file, line, ...(until !== undefined && { until }) }
}

function listTables(
  operation: Permission,
  id: ObjectId,
  objects?: IntentEntry['objects'],
): readonly ObjectId[] {
  if (objects === undefined || objects.length === 0) return tablelessPermissions.has(operation) ? [] : [id]
  const tables = [{ operation, id }, ...objects].filter((named) => !tablelessPermissions.has(named.operation))
  return [...new Map(tables.map(({ id }) => [idToJson(id), id])).values()]
}

/** Permissions on objects other than tables. All others are on tables, except ReadAnyTable. */
const tablelessPermissions: ReadonlySet<Permission> = new Set<Permission>([
  ...operationNames.filter((name) => operations[name].object !== 'table'),
  'ReadAnyTable',
])
