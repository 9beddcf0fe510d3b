import type { DeliveredRecord } from './delivered-record.ts'
import type { RecordContext } from './record-context.ts'

/** Lists the distinct ids in a record: the id of the route first, then those of all other tables. */
export function listSubjects(
  record: DeliveredRecord,
  { intent }: RecordContext,
): readonly (readonly string[])[] {
  const own = 'id' in record ? record.id : intent?.id
  const tables = 'tables' in record ? (record.tables ?? []) : []
  const ids = [...(own && own.length > 0 ? [own] : []), ...tables.map(({ id }) => id)]
  return [...new Map(ids.map((id) => [JSON.stringify(id), id])).values()]
}

/** Formats an id unambiguously: percent-encoded parts joined by slashes. */
export function formatSubject(id: readonly string[]): string {
  return id.map(encodeURIComponent).join('/')
}
