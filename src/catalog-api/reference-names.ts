import { refusal } from './catalog-error.ts'
import { quoteForMessage } from './identifiers.ts'

/** Letters and digits of any script, `.`, `_` and `-`; the checks below refuse `.` and `..`. */
const segment = /^[\p{L}\p{N}._-]+$/u

/**
 * Whether the text can be the name of a branch: segments joined by slashes, since it becomes a path in the storage of the
 * table.
 */
export function isBranchName(text: string): boolean {
  return text.split('/').every((part) => segment.test(part) && part !== '.') && !isReserved(text)
}

/** Throws InvalidInput (400) unless `branch` is valid. Absent and empty mean the main branch. */
export function assertBranch(branch: string | undefined): void {
  if (branch === undefined || branch === '' || isBranchName(branch)) return
  throw refusal('invalid_reference', `${quoteForMessage(branch)} is not a valid branch name`)
}

/** Throws InvalidInput (400) unless `tag` is valid. It becomes a file name. */
export function assertTag(tag: string | undefined): void {
  if (tag === undefined) return
  const isValid = segment.test(tag) && !tag.startsWith('.') && !tag.endsWith('.') && !isReserved(tag)
  if (!isValid) throw refusal('invalid_reference', `${quoteForMessage(tag)} is not a valid tag name`)
}

function isReserved(name: string): boolean {
  return name.includes('..') || name.endsWith('.lock')
}
