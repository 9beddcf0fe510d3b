import { invalidInput } from '../../interface/errors.ts'
import { show } from '../../interface/identifiers.ts'

/** The members that decide something. */
const watched: ReadonlySet<string> = new Set([
  'id',
  'index_name',
  'identity',
  'context',
  'mode',
  'behavior',
  'branch',
  'from_branch',
  'tag',
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
 * letters, or in what stands behind a NUL: some servers would read it as that member, and some would not.
 */
export function assertSpelling(name: string): void {
  if (watched.has(name)) return
  const folded = spelled(name)
  if (watched.has(folded)) {
    throw invalidInput(`the key ${show(name)} in the body could be taken for ${show(folded)}; write it so`)
  }
}

/** A key as the most lenient reader has it. */
export function spelled(name: string): string {
  // Through upper case, so that the long s is an s, as it is to readers that fold by Unicode.
  const folded = name.toUpperCase().toLowerCase()
  const end = folded.indexOf('\0')
  return end === -1 ? folded : folded.slice(0, end)
}
