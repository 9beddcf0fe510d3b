import { refusal } from './catalog-error.ts'

/** The id of an object: its parts from the root down. The root namespace is the empty list. */
export type Identifier = readonly string[]

/** What joins the parts of an id on the wire when the request names no other delimiter. */
export const defaultDelimiter = '$'

/** No more parts than this, and no more bytes of UTF-8 in all of them together. */
const maxIdentifierParts = 64
const maxIdentifierBytes = 4096
const maxDelimiterLength = 16

/**
 * What no name may hold. Lone surrogates are no text. Control characters, slashes and percent signs are read differently by routers that
 * normalise or decode a second time; quotes escape from the filters of catalogs that paste names into SQL.
 */
const forbiddenCharacters = /[\p{Cc}\p{Cs}/\\%?#'"`]/u

/**
 * Reads an id as it stands in a route, percent-decoded exactly once.
 * The delimiter alone is the root; empty parts are refused, never dropped.
 * Throws InvalidInput (400) that names the part and what is wrong with it.
 */
export function parseIdentifier(text: string, delimiter: string): Identifier {
  if (text === delimiter) return []
  return assertIdentifier(text.split(delimiter))
}

/**
 * Throws InvalidInput (400) unless the id, joined by any of the separators, can only be split into its own parts: some
 * catalogs join parts by one of their own, unescaped, whatever the delimiter of a request.
 */
export function assertSeparable(id: Identifier, separators: readonly string[]): void {
  for (const separator of separators) formatIdentifier(id, separator)
}

/** Writes an id with that delimiter. Throws InvalidInput (400) where a part holds the delimiter itself. */
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
  // A delimiter such as `::` also arises where `:` ends one part and begins the next: `a:` and `b` is not `a` and `:b`.
  if (delimiter.length > 1 && text.split(delimiter).join('\n') !== id.join('\n')) {
    throw refusal(
      'invalid_id',
      `the id ${quoteForMessage(text)} cannot be written with the delimiter ${quoteForMessage(delimiter)}`,
    )
  }
  return text
}

/** Answers the id if every part of it is a name that can be used, and throws InvalidInput (400) if not. */
export function assertIdentifier(id: Identifier): Identifier {
  if (id.length > maxIdentifierParts) {
    throw refusal('invalid_id', `the id has ${id.length} parts; an id has at most ${maxIdentifierParts}`)
  }
  let bytes = 0
  for (const part of id) {
    assertName(part, 'a part of the id')
    bytes += Buffer.byteLength(part)
  }
  if (bytes > maxIdentifierBytes)
    throw refusal('invalid_id', `the id has ${bytes} bytes; an id has at most ${maxIdentifierBytes}`)
  return id
}

/** Throws InvalidInput (400) unless `name` can be a part of an id or the name of an index. */
export function assertName(name: string, what: string): void {
  if (name === '') throw refusal('invalid_id', `${what} is empty`)
  if (name === '.' || name === '..')
    throw refusal('invalid_id', `${what} is ${quoteForMessage(name)}, which is a path segment, not a name`)
  const character = forbiddenCharacters.exec(name)?.[0]
  if (character !== undefined) {
    throw refusal(
      'invalid_id',
      `${what}, ${quoteForMessage(name)}, contains ${quoteForMessage(character)}, which is not allowed in a name`,
    )
  }
}

/** Throws InvalidInput (400) unless `delimiter` can separate the parts of an id. */
export function assertDelimiter(delimiter: string): void {
  if (delimiter === '') throw refusal('invalid_id', 'the delimiter is empty; omit it for "$"')
  if (delimiter.length > maxDelimiterLength) {
    throw refusal('invalid_id', `the delimiter is longer than ${maxDelimiterLength} characters`)
  }
  if (/[\p{Cc}\\]/u.test(delimiter)) {
    throw refusal('invalid_id', 'the delimiter contains a control character or a backslash')
  }
}

/** Whether two ids name the same object: the same parts, by exact code points. */
export function isSameIdentifier(one: Identifier, other: Identifier): boolean {
  return one.length === other.length && one.every((part, index) => part === other[index])
}

/** A value as it is shown in a message: quoted, escaped and cut to a readable length. */
export function quoteForMessage(value: string): string {
  return JSON.stringify(value.length > 80 ? `${value.slice(0, 77)}...` : value)
}
