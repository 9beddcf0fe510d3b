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
  return {
    ...factsIn(value),
    // Not cut here: the log hashes them, unless it is told otherwise, and two that begin alike are not the same.
    ...(Object.fromEntries(present(filterMembers, value)) as Details),
    ...(indexName !== undefined && { index_name: indexName }),
  }
}

/** The same of an entry of a batch. */
export function detailsOf(entry: Members): Details {
  return factsIn((name) => memberOf(entry, name))
}

function factsIn(value: (name: string) => unknown): Details {
  const facts = present(recorded, value).map(([name, found]) => [name, bounded(found)] as const)
  const metadataKeys = keysOf(value('metadata'))
  // Everything in it came out of a JSON document or out of the query.
  return {
    ...(Object.fromEntries(facts) as Details),
    ...(metadataKeys !== undefined && { metadata_keys: metadataKeys }),
  }
}

function present(
  names: readonly string[],
  value: (name: string) => unknown,
): [name: string, value: unknown][] {
  return names
    .map((name): [string, unknown] => [name, value(name)])
    .filter(([, found]) => found !== undefined && found !== null)
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
