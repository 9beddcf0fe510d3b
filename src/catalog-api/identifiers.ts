import { refusal } from './catalog-error.ts'

/** Object id: its parts from the root down. The root namespace is the empty list. */
export type Identifier = readonly string[]

/** Separates the parts of an id if the request names no delimiter. */
export const defaultDelimiter = '$'

const maxIdentifierParts = 64
const maxIdentifierBytes = 4096
const maxDelimiterLength = 16

/**
 * Routers that normalise or decode twice read control characters, slashes and percent signs differently. Quotes escape
 * from the filters of catalogs that paste names into SQL.
 */
const forbiddenCharacters = /[\p{Cc}\p{Cs}/\\%?#'"`]/u

/**
 * Parses the decoded id of a route. The delimiter alone is the root; empty parts are refused. Throws InvalidInput
 * (400).
 */
export function parseIdentifier(text: string, delimiter: string): Identifier {
  return text === delimiter ? [] : assertIdentifier(text.split(delimiter))
}

/**
 * Lists the strings that no name contains in a catalog with that delimiter: some catalogs join the parts of an id by `$`,
 * unescaped, with any delimiter.
 */
export function listSeparators(delimiter: string): readonly string[] {
  return [...new Set([delimiter, defaultDelimiter])]
}

/** Lists the strings that no name contains in any catalog with these delimiters. */
export function listCommonSeparators(delimiters: readonly string[]): readonly string[] {
  const [first = defaultDelimiter, ...others] = delimiters
  return listSeparators(others.every((other) => other === first) ? first : defaultDelimiter)
}

/**
 * Throws InvalidInput (400) if joining the id by one of the separators is ambiguous: some catalogs join parts
 * unescaped.
 */
export function assertSeparable(id: Identifier, separators: readonly string[]): void {
  for (const separator of separators) formatIdentifier(id, separator)
}

/** Joins an id by the delimiter. Throws InvalidInput (400) if a part contains the delimiter. */
export function formatIdentifier(id: Identifier, delimiter: string): string {
  if (id.length === 0) return delimiter
  for (const part of id) {
    if (part.includes(delimiter)) {
      throw refusal(
        'invalid_id',
        `${quoteForMessage(part)} in the id contains ${quoteForMessage(delimiter)}, which is the delimiter`,
      )
    }
  }
  const text = id.join(delimiter)
  if (!isSeparable(id, delimiter)) {
    throw refusal(
      'invalid_id',
      `the id ${quoteForMessage(text)} cannot be written with the delimiter ${quoteForMessage(delimiter)}`,
    )
  }
  return text
}

/**
 * Whether the id reads the same after its parts were joined. No part may contain the delimiter, and one such as `::` can
 * also arise between parts: `a:` and `b` would read as `a` and `:b`.
 */
export function isSeparable(id: Identifier, delimiter: string): boolean {
  if (delimiter.length === 1) return !id.some((part) => part.includes(delimiter))
  return id.join(delimiter).split(delimiter).join('\n') === id.join('\n')
}

/** Returns the id. Throws InvalidInput (400) unless every part is a valid name. */
export function assertIdentifier(id: Identifier): Identifier {
  if (id.length > maxIdentifierParts) {
    throw refusal('invalid_id', `the id has ${id.length} parts; an id has at most ${maxIdentifierParts}`)
  }
  if (id.includes(''))
    throw refusal('invalid_id', `a part of the id is empty: ${truncateForMessage(JSON.stringify(id))}`)
  let bytes = 0
  for (const part of id) {
    assertName(part, 'a part of the id')
    bytes += Buffer.byteLength(part)
  }
  if (bytes > maxIdentifierBytes)
    throw refusal('invalid_id', `the id has ${bytes} bytes; an id has at most ${maxIdentifierBytes}`)
  return id
}

/** Throws InvalidInput (400) unless `name` is valid as a part of an id or as the name of an index. */
export function assertName(name: string, label: string): void {
  if (name === '') throw refusal('invalid_id', `${label} is empty`)
  if (name === '.' || name === '..')
    throw refusal('invalid_id', `${label} is ${quoteForMessage(name)}, which is a path segment, not a name`)
  const character = forbiddenCharacters.exec(name)?.[0]
  if (character !== undefined) {
    throw refusal(
      'invalid_id',
      `${label}, ${quoteForMessage(name)}, contains ${quoteForMessage(character)}, which is not allowed in a name`,
    )
  }
}

/** Throws InvalidInput (400) unless the delimiter is valid. */
export function assertDelimiter(delimiter: string): void {
  if (delimiter === '') throw refusal('invalid_id', 'the delimiter is empty; omit it for "$"')
  if (delimiter.length > maxDelimiterLength) {
    throw refusal('invalid_id', `the delimiter is longer than ${maxDelimiterLength} characters`)
  }
  if (/[\p{Cc}\\]/u.test(delimiter)) {
    throw refusal('invalid_id', 'the delimiter contains a control character or a backslash')
  }
}

/** Letters and digits of any script, `.`, `_` and `-`; the checks below refuse `.` and `..`. */
const referenceSegment = /^[\p{L}\p{N}._-]+$/u

/**
 * Whether the text can be the name of a branch: segments joined by slashes, since it becomes a path in the storage of the
 * table.
 */
export function isBranchName(text: string): boolean {
  return text.split('/').every((part) => referenceSegment.test(part) && part !== '.') && !isReserved(text)
}

/** A tag becomes a file name. */
function isTagName(text: string): boolean {
  return referenceSegment.test(text) && !text.startsWith('.') && !text.endsWith('.') && !isReserved(text)
}

/** Throws InvalidInput (400) unless the name is valid. An empty one of a branch means the main branch. */
export function assertReference(kind: 'branch' | 'tag', name: string): void {
  const isValid = kind === 'tag' ? isTagName(name) : name === '' || isBranchName(name)
  if (!isValid) throw refusal('invalid_reference', `${quoteForMessage(name)} is not a valid ${kind} name`)
}

function isReserved(name: string): boolean {
  return name.includes('..') || name.endsWith('.lock')
}

/** Whether `id` is the namespace or beneath it, compared part by part. */
export function isWithin(id: Identifier, namespace: Identifier): boolean {
  return id.length >= namespace.length && namespace.every((part, index) => part === id[index])
}

export function isSameIdentifier(one: Identifier, other: Identifier): boolean {
  return one.length === other.length && one.every((part, index) => part === other[index])
}

/** Quotes, escapes and truncates a value for a message. */
export function quoteForMessage(value: string): string {
  return JSON.stringify(truncateForMessage(value))
}

export function truncateForMessage(value: string): string {
  return value.length > 80 ? `${value.slice(0, 77)}...` : value
}
