import type { DeliveredRecord } from './delivered-record.ts'
import type { RecordContext } from './record-context.ts'

/** The ids of what a record speaks of: of the route first, then of every other table; each once. */
export function listSubjects(
  record: DeliveredRecord,
  { intent }: RecordContext,
): readonly (readonly string[])[] {
  const own = 'id' in record ? record.id : intent?.id
  const tables = 'tables' in record ? (record.tables ?? []) : []
  const ids = [...(own && own.length > 0 ? [own] : []), ...tables.map(({ id }) => id)]
  return [...new Map(ids.map((id) => [JSON.stringify(id), id])).values()]
}

/** An id as one text that no other id has: its parts percent-encoded, joined by slashes. */
export function formatSubject(id: readonly string[]): string {
  return id.map(encodeURIComponent).join('/')
}
