import { decisiveMembers } from '../../catalog-api/decisive-members.ts'
import { refusal } from '../../catalog-api/catalog-error.ts'
import { quoteForMessage } from '../../catalog-api/identifiers.ts'

/**
 * Throws InvalidInput (400) for a key that differs from a member with an effect only in case, or in what follows a NUL:
 * some servers would read it as that member.
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

/** Normalizes a key as the most lenient reader does. */
export function foldMemberName(name: string): string {
  // Upper case first: the long s becomes s, as it does for readers that fold by Unicode.
  const folded = name.toUpperCase().toLowerCase()
  const end = folded.indexOf('\0')
  return end === -1 ? folded : folded.slice(0, end)
}
