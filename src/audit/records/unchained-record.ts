import { operationNames, operations, type Permission } from '../../catalog-api/index.ts'
import { currentTimestamp, memoizeByObject } from '../../lib/index.ts'
import type {
  AuditedPrincipal,
  IntentEntry,
  ObjectId,
  PassThroughEntry,
  RecordBodies,
  RecordKind,
  RefusalEntry,
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

/** Creates the records of requests, redacted, with the current time. Throws `TypeError` for invalid JSON. */
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
      const { operation, id, objects } = entry
      const body: IntentEntry = {
        ...entry,
        objects: objects?.map((object) => ({ ...object, details: redaction.redactDetails(object.details) })),
        principal: redactPrincipal(entry.principal),
        rule: pickRule(entry.rule),
        restrictedBy: entry.restrictedBy?.map(pickRule),
        ...redactCaller(entry),
        context: redaction.redactContext(entry.context),
        details: redaction.redactDetails(entry.details),
      }
      return createRecord('intent', body, listTables(operation, id, objects))
    },
    createRefusal(entry: RefusalEntry): UnchainedRecord {
      const { operation, id = [], principal, rule } = entry
      const body: RefusalEntry = {
        ...entry,
        principal: principal && redactPrincipal(principal),
        rule: rule && pickRule(rule),
        ...redactCaller(entry),
        details: redaction.redactDetails(entry.details),
      }
      return createRecord('refusal', body, operation === undefined ? [] : listTables(operation, id))
    },
    createPassThrough(entry: PassThroughEntry): UnchainedRecord {
      const { path, principal } = entry
      return createRecord('passThrough', {
        ...entry,
        path: path.slice(0, maxPathLength),
        principal: principal && redactPrincipal(principal),
        ...redactCaller(entry),
      })
    },
  }
}

const maxPathLength = 1024

/** A rule that decided has more members than a record. */
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
