import type { RecordFormat } from '../../config/audit/record-formats.ts'
import { createCloudEvent } from './cloud-event.ts'
import type { DeliveredRecord } from './delivered-record.ts'
import { createOcsfEvent } from './ocsf-event.ts'
import type { RecordContext } from './record-context.ts'

/** JSON on one line, without a newline. */
export function formatRecord(record: DeliveredRecord, format: RecordFormat, context: RecordContext): string {
  if (format === 'json') return JSON.stringify(record)
  return JSON.stringify(
    format === 'ocsf' ? createOcsfEvent(record, context) : createCloudEvent(record, context),
  )
}
