import { type Details, filterMembers, formatFactDetails, isJson, truncateDetail } from '../../audit/index.ts'
import { type Operation, type RouteMatch, type StatedFacts } from '../../catalog-api/index.ts'
import { memoizeByObject } from '../../lib/index.ts'
import { getMember, type JsonObject } from './stated-facts.ts'

/** Lists the body members that the intent of a change may record. */
export const listDetailMembers: (operation: Operation) => ReadonlySet<string> = memoizeByObject(
  ({ facts, recorded }) => {
    const inBody = facts.flatMap(([, sources]) => sources.filter(({ in: part }) => part === 'body'))
    return new Set([...inBody.map(({ name }) => name), ...recorded])
  },
)

/**
 * Creates the details of a change for the audit log: the facts that were authorized, under their names in the
 * interface, other recorded members of the operation, and the paths of the members that the request has outside
 * of the interface. They are limited in size and never contain table data.
 */
export function createChangeDetails(
  { operation, indexName, blob, parameters }: RouteMatch,
  stated: StatedFacts,
  members: JsonObject,
  allowedMembers: ReadonlySet<string>,
): Details {
  if (operation.effect === 'read' && operation.recorded.length === 0) return {}
  const details = createDetails(operation, stated, (name) => parameters.get(name) ?? getMember(members, name))
  return {
    ...details,
    ...(indexName !== undefined && { index_name: indexName }),
    ...(blob !== undefined && { column: truncateDetail(blob.column), row_id: blob.rowId }),
    ...(allowedMembers.size > 0 && { members: [...allowedMembers] }),
  }
}

/** Creates the details of a batch entry. */
export function createEntryDetails(operation: Operation, stated: StatedFacts, entry: JsonObject): Details {
  return createDetails(operation, stated, (name) => getMember(entry, name))
}

function createDetails(operation: Operation, stated: StatedFacts, sent: (name: string) => unknown): Details {
  const details = formatFactDetails(operation, stated)
  for (const name of operation.recorded) {
    const value = sent(name)
    if (value === undefined) continue
    // The log hashes filters: filters with the same prefix would become equal if they were truncated.
    details[name] = isFilterMember(name) && isJson(value) ? value : truncateDetail(withoutKey(name, value))
  }
  return details
}

/** Subjects of grants: principals, groups and roles by id or name. Any other, such as `a:KEY`, may hold a secret. */
const namedSubject = /^[pPgGr]:/

function withoutKey(name: string, value: unknown): unknown {
  if (name !== 'subject' || (typeof value === 'string' && namedSubject.test(value))) return value
  return '(a credential)'
}

/** Whether a member contains SQL, and therefore values of rows. */
export function isFilterMember(name: string): boolean {
  return (filterMembers as readonly string[]).includes(name)
}
