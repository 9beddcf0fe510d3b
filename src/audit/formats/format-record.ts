import { createCloudEvent } from './cloud-event.ts'
import type { DeliveredRecord } from './delivered-record.ts'
import { createOcsfEvent } from './ocsf-event.ts'
import type { RecordContext } from './record-context.ts'

/**
 * How a record is written for others. `json`: as it stands in the log, so that its hash still holds. `ocsf`: an API
 * Activity of the Open Cybersecurity Schema Framework. `cloudevents`: a CloudEvent 1.0 in its JSON format.
 */
export const recordFormats = ['json', 'ocsf', 'cloudevents'] as const

export type RecordFormat = (typeof recordFormats)[number]

/** The record in that format: JSON on one line, without a newline. */
export function formatRecord(record: DeliveredRecord, format: RecordFormat, context: RecordContext): string {
  if (format === 'json') return JSON.stringify(record)
  return JSON.stringify(
    format === 'ocsf' ? createOcsfEvent(record, context) : createCloudEvent(record, context),
  )
}
