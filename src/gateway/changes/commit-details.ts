import { filterMembers } from '../../audit/redaction.ts'
import type { Details } from '../../audit/records.ts'
import type { Target } from '../../interface/target.ts'
import type { Members } from '../body/body-facts.ts'
import { keysOf } from './made-versions.ts'

/** The members and parameters that say what a change does, and hold neither data nor secrets. */
const recorded = [
  'mode',
  'behavior',
  'branch',
  'version',
  'manifest_path',
  'manifest_size',
  'e_tag',
  'naming_scheme',
  'new_table_name',
  'new_namespace_id',
  'new_namespace',
  'location',
  'ranges',
  'tag',
  'name',
  'from_branch',
  'from_version',
  'on',
] as const

/** The members of a body that the intent of a change may hold. */
export const recordedMembers: ReadonlySet<string> = new Set(recorded)

const maximumText = 1024

/** The facts of a change for its audit record: copied by name, cut to a bounded size, never the data itself. */
export function commitDetails({ operation, indexName, parameters }: Target, members: Members): Details {
  if (operation.effect === 'read') return {}
  const value = (name: string): unknown => parameters.get(name) ?? memberOf(members, name)
  const facts = factsIn(value)
  for (const name of filterMembers) {
    const found = value(name)
    // Not cut here: the log hashes them, unless it is told otherwise, and two that begin alike are not the same.
    if (found !== undefined && found !== null) facts[name] = found as Details[string]
  }
  if (indexName !== undefined) facts['index_name'] = indexName
  return facts
}

/** The same of an entry of a batch. */
export function detailsOf(entry: Members): Details {
  return factsIn((name) => memberOf(entry, name))
}

/** Everything in it came out of a JSON document or out of the query. */
function factsIn(value: (name: string) => unknown): Record<string, Details[string]> {
  const facts: Record<string, Details[string]> = {}
  for (const name of recorded) {
    const found = value(name)
    if (found !== undefined && found !== null) facts[name] = bounded(found) as Details[string]
  }
  const metadataKeys = keysOf(value('metadata'))
  if (metadataKeys !== undefined) facts['metadata_keys'] = metadataKeys
  return facts
}

function memberOf(members: Members, name: string): unknown {
  return Object.hasOwn(members, name) ? members[name] : undefined
}

function bounded(value: unknown): unknown {
  if (typeof value === 'number' || typeof value === 'boolean') return value
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  if (text.length > maximumText) return `${text.slice(0, maximumText)}...`
  return value
}
