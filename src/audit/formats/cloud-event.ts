import { formatRecordId, type DeliveredRecord } from './delivered-record.ts'
import type { RecordContext } from './record-context.ts'
import { listSubjects, formatSubject } from './record-subject.ts'

/** A CloudEvent in structured mode (CloudEvents 1.0, JSON event format). */
export interface CloudEvent {
  readonly specversion: '1.0'
  /** The id of the record. */
  readonly id: string
  /** The gateway instance, as a URI reference. */
  readonly source: string
  /** Names the kind of the record, and the version of its format. */
  readonly type: string
  /** The id of the object, its parts percent-encoded and joined by slashes. */
  readonly subject?: string
  readonly time: string
  readonly datacontenttype: 'application/json'
  /** The record as it stands in the log. */
  readonly data: DeliveredRecord
}

/** The record as a CloudEvent. */
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
