import { createCloudEvent } from './cloud-event.ts'
import type { DeliveredRecord } from './delivered-record.ts'
import { createOcsfEvent } from './ocsf-event.ts'
import type { RecordContext } from './record-context.ts'

/**
 * Output formats of records. `json`: as stored in the log, so that the hash remains valid. `ocsf`: an API Activity of
 * the Open Cybersecurity Schema Framework. `cloudevents`: a CloudEvent 1.0 in the JSON format.
 */
export const recordFormats = ['json', 'ocsf', 'cloudevents'] as const

export type RecordFormat = (typeof recordFormats)[number]

/** Formats a record as single-line JSON without a newline. */
export function formatRecord(record: DeliveredRecord, format: RecordFormat, context: RecordContext): string {
  if (format === 'json') return JSON.stringify(record)
  return JSON.stringify(
    format === 'ocsf' ? createOcsfEvent(record, context) : createCloudEvent(record, context),
  )
}
