import { refusal } from './catalog-error.ts'
import { quoteForMessage } from './identifiers.ts'

/** Letters and digits of any script, and `.`, `_` and `-`; never a name by which a path goes up or nowhere. */
const segment = /^[\p{L}\p{N}._-]+$/u

/**
 * Throws InvalidInput (400) unless this can be the name of a branch: segments joined by slashes, for it becomes a
 * path in the storage of the table. Absent and empty is the main branch.
 */
export function assertBranch(branch: string | undefined): void {
  if (branch === undefined || branch === '') return
  const isFit = branch.split('/').every((part) => segment.test(part) && part !== '.') && !isReserved(branch)
  if (!isFit) throw refusal('invalid_reference', `${quoteForMessage(branch)} is not a valid branch name`)
}

/** Throws InvalidInput (400) unless this can be the name of a tag, which becomes the name of a file. */
export function assertTag(tag: string | undefined): void {
  if (tag === undefined) return
  const isFit = segment.test(tag) && !tag.startsWith('.') && !tag.endsWith('.') && !isReserved(tag)
  if (!isFit) throw refusal('invalid_reference', `${quoteForMessage(tag)} is not a valid tag name`)
}

function isReserved(name: string): boolean {
  return name.includes('..') || name.endsWith('.lock')
}
