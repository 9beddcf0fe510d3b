import type { Details } from '../audit/records.ts'
import type { Target } from '../interface/target.ts'
import type { Members } from './body-facts.ts'

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

const maximumText = 1024

/** The facts of a change for its audit record: copied by name, cut to a bounded size, never the data itself. */
export function commitDetails(target: Target, members: Members): Details {
  if (target.operation.effect === 'read') return {}
  const details: Record<string, unknown> = {}
  for (const name of recorded) {
    const value = target.parameters.get(name) ?? (Object.hasOwn(members, name) ? members[name] : undefined)
    if (value === undefined || value === null) continue
    details[name] = bounded(value)
  }
  if (target.indexName !== undefined) details['index_name'] = target.indexName
  // Everything in it came out of a JSON document or out of the query.
  return details as Details
}

function bounded(value: unknown): unknown {
  if (typeof value === 'number' || typeof value === 'boolean') return value
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  if (text.length > maximumText) return `${text.slice(0, maximumText)}...`
  return value
}
