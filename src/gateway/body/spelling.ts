import { decisiveMembers } from '../../interface/decisive-names.ts'
import { refusal } from '../../interface/errors.ts'
import { show } from '../../interface/identifiers.ts'

/**
 * Throws InvalidInput (400) for a key that differs from a member that decides something only in the case of its
 * letters, or in what stands behind a NUL: some servers would read it as that member, and some would not.
 */
export function assertSpelling(name: string): void {
  if (decisiveMembers.has(name)) return
  const folded = spelled(name)
  if (decisiveMembers.has(folded)) {
    throw refusal(
      'ambiguous_member',
      `the key ${show(name)} in the body could be taken for ${show(folded)}; write it so`,
    )
  }
}

/** A key as the most lenient reader has it. */
export function spelled(name: string): string {
  // Through upper case, so that the long s is an s, as it is to readers that fold by Unicode.
  const folded = name.toUpperCase().toLowerCase()
  const end = folded.indexOf('\0')
  return end === -1 ? folded : folded.slice(0, end)
}
