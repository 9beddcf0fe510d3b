import { isIP } from 'node:net'
import { formatIdentifierText } from '../../catalog-api/identifier-text.ts'
import { findOperation, type AnyOperationName, type Effect } from '../../catalog-api/operations.ts'
import { listGrantTexts } from '../../policy/language/grant.ts'
import { formatRecordId, type DeliveredRecord } from './delivered-record.ts'
import type { RecordContext, StoredIntent } from './record-context.ts'
import { getSeverity, isUncertain, type Severity } from './record-severity.ts'
import { listSubjects } from './record-subject.ts'

// API Activity (class 6003) of the Open Cybersecurity Schema Framework with the profile Security Control. The
// attributes that its schema requires are always present.

const ocsfVersion = '1.6.0'

const categoryUid = 6
const classUid = 6003
const activityIds = { Create: 1, Read: 2, Update: 3, Delete: 4, Other: 99 } as const
const severityIds: Readonly<Record<Severity, number>> = { Informational: 1, Low: 2, Medium: 3, High: 4 }

type ActivityName = keyof typeof activityIds

/** Creates an OCSF event. `raw_data` is the record as stored in the log, so that its hash remains valid. */
export function createOcsfEvent(
  record: DeliveredRecord,
  context: RecordContext,
): Readonly<Record<string, unknown>> {
  const call = getCall(record, context)
  const activityName = getActivity(call)
  const severity = getSeverity(record)
  return {
    category_uid: categoryUid,
    category_name: 'Application Activity',
    class_uid: classUid,
    class_name: 'API Activity',
    activity_id: activityIds[activityName],
    activity_name: activityName === 'Other' ? record.kind : activityName,
    type_uid: classUid * 100 + activityIds[activityName],
    severity_id: severityIds[severity],
    severity,
    time: Date.parse(record.time),
    message: record.kind,
    ...statusFields(record),
    ...securityControlFields(record, call),
    metadata: metadataFields(record, context, call.request),
    actor: actorFields(call),
    api: apiFields(record, call),
    src_endpoint: sourceFields(call),
    ...(call.upstream !== undefined && { dst_endpoint: { svc_name: call.upstream } }),
    ...resourceFields(record, context, call.operation),
    raw_data: JSON.stringify(record),
  }
}

interface Call {
  readonly request?: string | undefined
  readonly operation?: AnyOperationName | undefined
  readonly effect?: Effect | undefined
  readonly principal?: StoredIntent['principal'] | undefined
  readonly client?: string | undefined
  readonly peer?: string | undefined
  readonly upstream?: string | undefined
  readonly rule?: StoredIntent['rule'] | undefined
  readonly policyRevision?: string | undefined
}

function getCall(record: DeliveredRecord, { intent }: RecordContext): Call {
  if (record.kind === 'intent' || record.kind === 'refusal' || record.kind === 'passThrough') return record
  if (record.kind === 'comparison') return { upstream: record.upstream }
  return { ...intent, ...('request' in record && { request: record.request }) }
}

function getActivity({ operation: name, effect: recorded }: Call): ActivityName {
  const operation = name === undefined ? undefined : findOperation(name)
  const effect = operation?.effect ?? recorded
  if (effect === undefined) return 'Other'
  if (effect === 'read') return 'Read'
  const group = operation?.group
  if (group === 'create') return 'Create'
  return group === 'drop' ? 'Delete' : 'Update'
}

function statusFields(record: DeliveredRecord) {
  if (record.kind === 'refusal') {
    return {
      status_id: 2,
      status: 'Failure',
      status_code: String(record.status),
      status_detail: record.reason,
    }
  }
  // Only the outcome says whether the intended change happened.
  if (record.kind === 'intent' || record.kind === 'passThrough') return { status_id: 99, status: 'Intended' }
  if (record.kind !== 'outcome' && record.kind !== 'resolved') return {}
  const { result } = record
  const [status_id, caption] =
    result === 'committed' ? [1, 'Success'] : isUncertain(result) ? [0, 'Unknown'] : [2, 'Failure']
  return {
    status_id,
    status: caption,
    status_detail: result,
    ...('status' in record && { status_code: String(record.status) }),
    ...('durationMs' in record && { duration: Math.round(record.durationMs) }),
  }
}

function securityControlFields(record: DeliveredRecord, { rule, policyRevision }: Call) {
  const isDenied = record.kind === 'refusal'
  if (!isDenied && !['intent', 'outcome', 'passThrough', 'resolved'].includes(record.kind)) return {}
  const [action, disposition] = isDenied ? ['Denied', 'Blocked'] : ['Allowed', 'Allowed']
  const decided = isDenied ? 2 : 1
  const grant = rule === undefined ? [] : listGrantTexts(rule)
  return {
    action_id: decided,
    action,
    disposition_id: decided,
    disposition,
    ...(rule && {
      policy: {
        name: rule.policy,
        uid: `${rule.policy}/${rule.rule}`,
        ...(grant.length > 0 && { desc: grant.join(', ') }),
        ...(policyRevision !== undefined && { version: policyRevision }),
        is_applied: true,
      },
    }),
  }
}

function metadataFields(record: DeliveredRecord, { origin }: RecordContext, request: string | undefined) {
  return {
    version: ocsfVersion,
    profiles: ['security_control'],
    product: { name: 'catalog-gateway', vendor_name: 'catalog-gateway', version: origin.software },
    uid: formatRecordId(record),
    ...(request !== undefined && { correlation_uid: request }),
    original_time: record.time,
    log_name: 'audit',
    log_provider: origin.gateway,
    ...('chain' in record && { sequence: record.seq }),
  }
}

function actorFields({ principal }: Call) {
  if (principal === undefined) return { app_name: 'catalog-gateway' }
  const { name, credentialId, issuer, groups } = principal
  return {
    user: { name, uid: name, ...(groups && { groups: [...groups].map((group) => ({ name: group })) }) },
    session: { uid: credentialId, ...(issuer !== undefined && { issuer }) },
  }
}

/** A pseudonymized address is not a valid IP address. */
function sourceFields({ client, peer = '' }: Call) {
  if (client === undefined) return { svc_name: 'catalog-gateway' }
  return {
    ...(isIP(client) === 0 ? { uid: client } : { ip: client }),
    ...(isIP(peer) !== 0 && { intermediate_ips: [peer] }),
  }
}

function apiFields(record: DeliveredRecord, { operation, request }: Call) {
  return {
    operation: operation ?? record.kind,
    service: { name: 'catalog' },
    ...(request !== undefined && { request: { uid: request } }),
    ...(record.kind === 'outcome' && record.status !== undefined && { response: { code: record.status } }),
  }
}

function resourceFields(
  record: DeliveredRecord,
  context: RecordContext,
  operation: AnyOperationName | undefined,
) {
  const ids = listSubjects(record, context)
  if (ids.length === 0) return {}
  const type = (operation && findOperation(operation)?.object) ?? 'table'
  const version = getVersion(record)
  return {
    resources: ids.map((id, index) => ({
      type: index === 0 ? type : 'table',
      name: id.at(-1),
      namespace: formatIdentifierText(id.slice(0, -1)),
      // Keep the parts separate: the joined id would be ambiguous.
      data: { id },
      ...(index === 0 && version !== undefined && { version: String(version) }),
    })),
  }
}

/** Returns the created version if the change made exactly one version of one table, or the one that was found. */
function getVersion(record: DeliveredRecord): number | undefined {
  if (record.kind === 'outcome' || record.kind === 'comparison') return record.version
  if (record.kind !== 'resolved' || record.result !== 'committed') return undefined
  const { versions = [] } = record
  return versions.length === 1 ? versions[0]?.version : undefined
}
