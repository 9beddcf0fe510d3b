import { truncateDetail, formatFactDetails } from '../../audit/records/fact-details.ts'
import { filterMembers } from '../../audit/records/redaction.ts'
import type { Details } from '../../audit/records/audit-record.ts'
import type { StatedFacts } from '../../catalog-api/facts.ts'
import type { Operation } from '../../catalog-api/operations.ts'
import type { RouteMatch } from '../../catalog-api/request-target.ts'
import { getMember, type JsonObject } from './stated-facts.ts'

const detailMembersByOperation = new WeakMap<Operation, ReadonlySet<string>>()

/** The members of a body that the intent of a change may hold. */
export function listDetailMembers(operation: Operation): ReadonlySet<string> {
  let members = detailMembersByOperation.get(operation)
  if (members === undefined) {
    const locations = operation.facts.flatMap(([, locationsOfFact]) => locationsOfFact)
    const inBody = locations.filter(({ in: part }) => part === 'body').map(({ name }) => name)
    detailMembersByOperation.set(operation, (members = new Set([...inBody, ...operation.recorded])))
  }
  return members
}

/**
 * What an audit record says of a change: the facts that were judged, under the names of the interface, and what else
 * the operation records. Cut to a bounded size, and never the data itself.
 */
export function createChangeDetails(
  { operation, indexName, parameters }: RouteMatch,
  stated: StatedFacts,
  members: JsonObject,
): Details {
  if (operation.effect === 'read') return {}
  const details = createDetails(operation, stated, (name) => parameters.get(name) ?? getMember(members, name))
  return indexName === undefined ? details : { ...details, index_name: indexName }
}

/** The same of an entry of a batch. */
export function createEntryDetails(operation: Operation, stated: StatedFacts, entry: JsonObject): Details {
  return createDetails(operation, stated, (name) => getMember(entry, name))
}

function createDetails(operation: Operation, stated: StatedFacts, sent: (name: string) => unknown): Details {
  const details = formatFactDetails(operation, stated)
  for (const name of operation.recorded) {
    const value = sent(name)
    // The log hashes filters, unless it is told otherwise: two that begin alike are not the same.
    if (value !== undefined)
      details[name] = isFilterMember(name) ? (value as Details[string]) : truncateDetail(value)
  }
  return details
}

/** Whether a member holds SQL, and with it values of rows. */
export function isFilterMember(name: string): boolean {
  return (filterMembers as readonly string[]).includes(name)
}
