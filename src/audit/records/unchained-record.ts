import { operationNames, operations } from '../../catalog-api/operations.ts'
import type { Permission } from '../../catalog-api/permissions.ts'
import { currentTimestamp } from '../../lib/time.ts'
import type {
  AuditedPrincipal,
  IntentEntry,
  IntentReference,
  ObjectId,
  OpenIntent,
  OutcomeEntry,
  PassThroughEntry,
  RecordBodies,
  RecordKind,
  RefusalEntry,
  ResolvedEntry,
} from './audit-record.ts'
import { idToJson, memberToJson, memoizeText, stringToJson } from './json-text.ts'
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

/** The JSON is written by hand, because there is one outcome for every change. */
export function createOutcomeRecord(intent: OpenIntent, entry: OutcomeEntry): UnchainedRecord {
  const { request, seq, tables } = intent
  const { result, status, version, versions, upload, durationMs, details } = entry
  const members =
    `"request":${stringToJson(request)},"intentSeq":${seq},"result":"${result}"` +
    memberToJson('status', status) +
    memberToJson('version', version) +
    memberToJson('versions', versions) +
    memberToJson('upload', upload) +
    memberToJson('durationMs', durationMs) +
    memberToJson('details', details)
  return { kind: 'outcome', time: currentTimestamp(), members, tables }
}

export function createResolvedRecord(intent: IntentReference, entry: ResolvedEntry): UnchainedRecord {
  const { request, seq: intentSeq, chain: intentChain, tables } = intent
  return createRecord('resolved', { request, intentSeq, intentChain, ...entry }, tables)
}

export type RequestRecordFactory = ReturnType<typeof createRequestRecordFactory>

/**
 * Creates request records with the current time. Ignores unlisted members. Throws `TypeError` for invalid JSON. Writes JSON
 * by hand, because every change and refusal has a record. Caches the text of principals and rules.
 */
export function createRequestRecordFactory(redaction: Redaction) {
  const principalText = memoizeText((principal: AuditedPrincipal) =>
    JSON.stringify(redaction.redactPrincipal(principal)),
  )
  const addressMembers = ({ client, peer }: Pick<RefusalEntry, 'client' | 'peer'>): string =>
    `,"client":${stringToJson(redaction.redactAddress(client))}` +
    (peer === undefined ? '' : `,"peer":${stringToJson(redaction.redactAddress(peer))}`)
  return {
    createIntent(entry: IntentEntry): UnchainedRecord {
      const { request, operation, id, objects, effect, principal, rule, restrictedBy } = entry
      const { policyRevision, context, upstream, database, before, facts, details } = entry
      const members =
        `"request":${stringToJson(request)},"operation":"${operation}","id":${idToJson(id)}` +
        memberToJson('objects', objects && redactObjects(objects, redaction)) +
        `,"effect":"${effect}","principal":${principalText(principal)},"rule":${formatRule(rule)}` +
        (restrictedBy === undefined ? '' : `,"restrictedBy":[${restrictedBy.map(formatRule).join()}]`) +
        `,"policyRevision":${stringToJson(policyRevision)}` +
        addressMembers(entry) +
        memberToJson('context', redaction.redactContext(context)) +
        `,"upstream":${stringToJson(upstream)}` +
        memberToJson('database', database) +
        memberToJson('before', before) +
        memberToJson('facts', facts) +
        memberToJson('details', redaction.redactDetails(details))
      return { kind: 'intent', time: currentTimestamp(), members, tables: listTables(operation, id, objects) }
    },
    createRefusal(entry: RefusalEntry): UnchainedRecord {
      const { request, status, reason, operation, id, principal, rule } = entry
      const { policyRevision, context, details } = entry
      const members =
        `"request":${stringToJson(request)},"status":${status},"reason":${stringToJson(reason)}` +
        memberToJson('operation', operation) +
        (id === undefined ? '' : `,"id":${idToJson(id)}`) +
        (principal === undefined ? '' : `,"principal":${principalText(principal)}`) +
        (rule === undefined ? '' : `,"rule":${formatRule(rule)}`) +
        memberToJson('policyRevision', policyRevision) +
        addressMembers(entry) +
        memberToJson('context', redaction.redactContext(context)) +
        memberToJson('details', redaction.redactDetails(details))
      const tables = operation === undefined ? [] : listTables(operation, id ?? [], undefined)
      return { kind: 'refusal', time: currentTimestamp(), members, tables }
    },
    createPassThrough(entry: PassThroughEntry): UnchainedRecord {
      const { request, prefix, method, path, upgrade, principal } = entry
      const members =
        `"request":${stringToJson(request)},"prefix":${stringToJson(prefix)},"method":${stringToJson(method)}` +
        memberToJson('path', path.slice(0, maxPathLength)) +
        memberToJson('upgrade', upgrade) +
        (principal === undefined ? '' : `,"principal":${principalText(principal)}`) +
        addressMembers(entry)
      return { kind: 'passThrough', time: currentTimestamp(), members, tables: [] }
    },
  }
}

const maxPathLength = 1024

const formatRule = memoizeText(({ policy, rule, file, line, until }: IntentEntry['rule']) =>
  JSON.stringify({ policy, rule, file, line, until }),
)

function redactObjects(
  objects: NonNullable<IntentEntry['objects']>,
  redaction: Redaction,
): NonNullable<IntentEntry['objects']> {
  return objects.map((object) => {
    const details = redaction.redactDetails(object.details)
    return details === object.details || details === undefined ? object : { ...object, details }
  })
}

function listTables(
  operation: Permission,
  id: ObjectId,
  objects: IntentEntry['objects'],
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
