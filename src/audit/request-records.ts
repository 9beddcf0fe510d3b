import { operationNames, operations } from '../interface/operations.ts'
import type { Permission } from '../interface/permissions.ts'
import { idText, member, quoted, writtenOnce } from './json-text.ts'
import type { LooseRecord } from './loose-records.ts'
import type { AuditedPrincipal, IntentEntry, ObjectId, RefusalEntry } from './records.ts'
import type { Redaction } from './redaction.ts'
import { timestamp } from './timestamp.ts'

/** Makes the records of requests, of now. They hold what stands here of an entry, and nothing else that it may hold. */
export interface RequestRecords {
  /** Throws `TypeError` for an entry that is no JSON. */
  intent(entry: IntentEntry): LooseRecord
  /** Likewise. */
  refusal(entry: RefusalEntry): LooseRecord
}

/**
 * The records of a log with that redaction. There is one for every change and every refusal, so that they are put
 * together by hand, in one pass, and what many requests have in common is written once: their principals and rules,
 * each as long as it is in use.
 */
export function requestRecords(redaction: Redaction): RequestRecords {
  const principalText = writtenOnce((principal: AuditedPrincipal) =>
    JSON.stringify(redaction.principal(principal)),
  )
  return {
    intent(entry) {
      const { request, operation, id, objects, effect, principal, rule } = entry
      const { policyRevision, client, context, upstream, database, before, facts, details } = entry
      const members =
        `"request":${quoted(request)},"operation":"${operation}","id":${idText(id)}` +
        member('objects', objects && redactedObjects(objects, redaction)) +
        `,"effect":"${effect}","principal":${principalText(principal)},"rule":${ruleText(rule)}` +
        `,"policyRevision":${quoted(policyRevision)},"client":${quoted(redaction.client(client))}` +
        member('context', redaction.context(context)) +
        `,"upstream":${quoted(upstream)}` +
        member('database', database) +
        member('before', before) +
        member('facts', facts) +
        member('details', redaction.details(details))
      return { kind: 'intent', time: timestamp(), members, tables: tablesOf(operation, id, objects) }
    },
    refusal(entry) {
      const { request, status, reason, operation, id, principal, rule } = entry
      const { policyRevision, client, context, details } = entry
      const members =
        `"request":${quoted(request)},"status":${status},"reason":${quoted(reason)}` +
        member('operation', operation) +
        (id === undefined ? '' : `,"id":${idText(id)}`) +
        (principal === undefined ? '' : `,"principal":${principalText(principal)}`) +
        (rule === undefined ? '' : `,"rule":${ruleText(rule)}`) +
        member('policyRevision', policyRevision) +
        `,"client":${quoted(redaction.client(client))}` +
        member('context', redaction.context(context)) +
        member('details', redaction.details(details))
      const tables = operation === undefined ? [] : tablesOf(operation, id ?? [], undefined)
      return { kind: 'refusal', time: timestamp(), members, tables }
    },
  }
}

const ruleText = writtenOnce(({ policy, rule, file, line }: IntentEntry['rule']) =>
  JSON.stringify({ policy, rule, file, line }),
)

function redactedObjects(
  objects: NonNullable<IntentEntry['objects']>,
  redaction: Redaction,
): NonNullable<IntentEntry['objects']> {
  return objects.map((object) => {
    const details = redaction.details(object.details)
    return details === object.details || details === undefined ? object : { ...object, details }
  })
}

/** The tables that an entry speaks of, each once. */
function tablesOf(operation: Permission, id: ObjectId, objects: IntentEntry['objects']): readonly ObjectId[] {
  if (objects === undefined || objects.length === 0) return tableless.has(operation) ? [] : [id]
  const tables = [{ operation, id }, ...objects].filter((named) => !tableless.has(named.operation))
  return [...new Map(tables.map(({ id }) => [idText(id), id])).values()]
}

/** The operations that are not on a table; what else there is to permit is, but for ReadAnyTable. */
const tableless: ReadonlySet<Permission> = new Set<Permission>([
  ...operationNames.filter((name) => operations[name].object !== 'table'),
  'ReadAnyTable',
])
