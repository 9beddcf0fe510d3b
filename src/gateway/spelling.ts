import { invalidInput } from '../interface/errors.ts'
import { show } from '../interface/identifiers.ts'

/** The members that decide something. */
const watched: ReadonlySet<string> = new Set([
  'id',
  'index_name',
  'identity',
  'context',
  'mode',
  'behavior',
  'branch',
  'location',
  'vend_credentials',
  'manifest_path',
  'new_table_name',
  'new_namespace_id',
  'new_namespace',
  'entries',
  'operations',
  'declare_table',
  'create_table_version',
  'delete_table_versions',
  'deregister_table',
  'query',
])

/**
 * Throws InvalidInput (400) for a key that differs from a member that decides something only in the case of its
 * letters: some servers would read it as that member, and some would not.
 */
export function assertSpelling(members: Readonly<Record<string, unknown>>): void {
  for (const name of Object.keys(members)) {
    if (watched.has(name)) continue
    // Through upper case, so that the long s is an s, as it is to readers that fold by Unicode.
    const folded = name.toUpperCase().toLowerCase()
    if (watched.has(folded)) {
      throw invalidInput(`the key ${show(name)} in the body could be taken for ${show(folded)}; write it so`)
    }
  }
}
