import type { PolicyDocument } from '../language/policy-document.ts'
import { PolicyError } from '../language/policy-error.ts'
import type { DeclaredTags } from '../tags/declared-tags.ts'
import type { PolicyText } from './policy-location.ts'

/** A file with something that takes permissions away. */
export interface RestrictiveFile extends PolicyText {
  /** Number of deny rules, tags, `final`, `inherit: false` and `onDeny: 404` in it. */
  readonly restrictions: number
}

export function listRestrictiveFiles(
  files: readonly PolicyText[],
  documents: readonly PolicyDocument[],
): readonly RestrictiveFile[] {
  const counts = new Map<string, number>()
  for (const document of documents)
    counts.set(document.file, (counts.get(document.file) ?? 0) + countRestrictions(document))
  return files
    .map((file) => ({ ...file, restrictions: counts.get(file.name) ?? 0 }))
    .filter(({ restrictions }) => restrictions > 0)
}

function countRestrictions({ rules, final, inherit, onDeny, tags }: PolicyDocument): number {
  const denies = rules.filter(({ effect }) => effect === 'deny').length
  const others = [final.size > 0, !inherit, onDeny === 404].filter(Boolean).length
  return denies + others + (tags === undefined ? 0 : countTags(tags))
}

/** Denies may ask for them. */
function countTags({ namespace = [], tables }: DeclaredTags): number {
  const ofTables = [...tables.values()].flatMap(({ tags, columns }) => [
    ...tags,
    ...[...columns.values()].flatMap((column) => column.tags),
  ])
  return (typeof namespace === 'symbol' ? 0 : namespace.length) + ofTables.length
}

/**
 * Throws PolicyError for a file that was written in place, is now the beginning of its last content, and has lost a
 * restriction: a write to a full disk does that, and a cut after a complete rule is valid YAML. A file whose last line is
 * `...` is complete.
 */
export function assertNotCut(
  before: readonly RestrictiveFile[],
  after: readonly RestrictiveFile[],
  files: readonly PolicyText[],
): void {
  const restrictions = new Map(after.map((file) => [file.name, file.restrictions]))
  const present = new Map(files.map((file) => [file.name, file]))
  const cut = before.filter((last) => {
    const file = present.get(last.name)
    return (
      file !== undefined &&
      file.inode === last.inode &&
      (restrictions.get(last.name) ?? 0) < last.restrictions &&
      isBeginning(file.bytes, last.bytes) &&
      !hasEndMarker(file.bytes)
    )
  })
  if (cut.length > 0) throw new PolicyError(cut.map(({ name }) => ({ file: name, message: cutMessage })))
}

const cutMessage =
  'has lost a restriction (a deny, tags, `final`, `inherit: false` or `onDeny: 404`) and is otherwise unchanged, so it may be ' +
  'cut; expected another file in its place, or a last line `...`'

function isBeginning(bytes: Uint8Array, whole: Uint8Array): boolean {
  return bytes.length < whole.length && Buffer.compare(bytes, whole.subarray(0, bytes.length)) === 0
}

function hasEndMarker(bytes: Uint8Array): boolean {
  return /(^|\n)\.\.\.\r?\n$/.test(Buffer.from(bytes.subarray(-6)).toString('latin1'))
}
