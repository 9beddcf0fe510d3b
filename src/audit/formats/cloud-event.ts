import { formatRecordId, type DeliveredRecord } from './delivered-record.ts'
import type { RecordContext } from './record-context.ts'
import { listSubjects, formatSubject } from './record-subject.ts'

/** A CloudEvent in structured mode (CloudEvents 1.0, JSON event format). */
export interface CloudEvent {
  readonly specversion: '1.0'
  readonly id: string
  /** The gateway instance, as a URI reference. */
  readonly source: string
  readonly type: string
  /** Id of the object: percent-encoded parts joined by slashes. */
  readonly subject?: string
  readonly time: string
  readonly datacontenttype: 'application/json'
  readonly data: DeliveredRecord
}

export function createCloudEvent(record: DeliveredRecord, context: RecordContext): CloudEvent {
  const [subject] = listSubjects(record, context)
  return {
    specversion: '1.0',
    id: formatRecordId(record),
    source: `/catalog-gateway/${encodeURIComponent(context.origin.gateway)}`,
    type: `catalog-gateway.audit.${record.kind}.v${record.v}`,
    ...(subject && { subject: formatSubject(subject) }),
    time: record.time,
    datacontenttype: 'application/json',
    data: record,
  }
}
