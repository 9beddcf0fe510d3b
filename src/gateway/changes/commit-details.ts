import { boundedDetail, detailsOfFacts } from '../../audit/fact-details.ts'
import { filterMembers } from '../../audit/redaction.ts'
import type { Details } from '../../audit/records.ts'
import type { StatedFacts } from '../../interface/facts.ts'
import type { Operation } from '../../interface/operations.ts'
import type { Target } from '../../interface/target.ts'
import { memberOf, type Members } from '../facts/read-facts.ts'

const membersByOperation = new WeakMap<Operation, ReadonlySet<string>>()

/** The members of a body that the intent of a change may hold. */
export function detailMembers(operation: Operation): ReadonlySet<string> {
  let members = membersByOperation.get(operation)
  if (members === undefined) {
    const places = operation.facts.flatMap(([, placesOfFact]) => placesOfFact)
    const inBody = places.filter(({ in: part }) => part === 'body').map(({ name }) => name)
    membersByOperation.set(operation, (members = new Set([...inBody, ...operation.recorded])))
  }
  return members
}

/**
 * What an audit record says of a change: the facts that were judged, under the names of the interface, and what else
 * the operation records. Cut to a bounded size, and never the data itself.
 */
export function commitDetails(
  { operation, indexName, parameters }: Target,
  stated: StatedFacts,
  members: Members,
): Details {
  if (operation.effect === 'read') return {}
  const details = detailsOf(operation, stated, (name) => parameters.get(name) ?? memberOf(members, name))
  return indexName === undefined ? details : { ...details, index_name: indexName }
}

/** The same of an entry of a batch. */
export function entryDetails(operation: Operation, stated: StatedFacts, entry: Members): Details {
  return detailsOf(operation, stated, (name) => memberOf(entry, name))
}

function detailsOf(operation: Operation, stated: StatedFacts, sent: (name: string) => unknown): Details {
  const details = detailsOfFacts(operation, stated)
  for (const name of operation.recorded) {
    const value = sent(name)
    // The log hashes filters, unless it is told otherwise: two that begin alike are not the same.
    if (value !== undefined)
      details[name] = isFilter(name) ? (value as Details[string]) : boundedDetail(value)
  }
  return details
}

/** Whether a member holds SQL, and with it values of rows. */
export function isFilter(name: string): boolean {
  return (filterMembers as readonly string[]).includes(name)
}
