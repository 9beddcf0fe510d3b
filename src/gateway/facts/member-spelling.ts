import { decisiveMembers } from '../../catalog-api/decisive-members.ts'
import { refusal } from '../../catalog-api/catalog-error.ts'
import { quoteForMessage } from '../../catalog-api/identifiers.ts'

/**
 * Throws InvalidInput (400) for a key that differs from a member that decides something only in the case of its
 * letters, or in what stands behind a NUL: some servers would read it as that member, and some would not.
 */
export function assertMemberSpelling(name: string): void {
  if (decisiveMembers.has(name)) return
  const folded = foldMemberName(name)
  if (decisiveMembers.has(folded)) {
    throw refusal(
      'ambiguous_member',
      `the key ${quoteForMessage(name)} in the body is ambiguous; write ${quoteForMessage(folded)}`,
    )
  }
}

/** A key as the most lenient reader has it. */
export function foldMemberName(name: string): string {
  // Through upper case, so that the long s is an s, as it is to readers that fold by Unicode.
  const folded = name.toUpperCase().toLowerCase()
  const end = folded.indexOf('\0')
  return end === -1 ? folded : folded.slice(0, end)
}
