import { refusal, CatalogError } from './catalog-error.ts'
import {
  assertIdentifier,
  defaultDelimiter,
  parseIdentifier,
  quoteForMessage,
  type Identifier,
  truncateForMessage,
} from './identifiers.ts'
import type { ObjectKind } from './operations.ts'

/*
 * How people read and write ids in commands and the console. The slash is printed: no name contains one, and a shell
 * leaves it alone. The delimiter of requests is read as well, as errors of the catalog API are copied. Some catalogs allow
 * it in names: an id that is ambiguous as a text is a list of names, as in policies, settings and bodies.
 */

/**
 * Formats an id: `prod/sales/orders`, and `/` for the root; `["prod", "a$b"]` if the text could mean another id.
 * `parseIdentifierText` returns the same id.
 */
export function formatIdentifierText(id: Identifier): string {
  if (id.length === 0) return '/'
  return isUnambiguous(id) ? id.join('/') : formatNameList(id)
}

/** Whether the names, joined by one of the separators, are read as the same id. */
function isUnambiguous(id: Identifier): boolean {
  return id.every((name) => /^[^/$]+$/.test(name)) && !id[0]?.startsWith('[')
}

/** Formats names as a list, which is valid JSON and YAML: `["prod", "sales"]`. */
export function formatNameList(names: readonly string[]): string {
  return `[${names.map((name) => JSON.stringify(name)).join(', ')}]`
}

/**
 * Parses `prod/sales/orders`, `prod$sales$orders` or a JSON list of names; `/`, `$` and `[]` are the root. Throws
 * InvalidInput (400) for a text with both separators, which could mean two ids, and for invalid names.
 */
export function parseIdentifierText(text: string): Identifier {
  if (text.startsWith('[')) return assertIdentifier(parseNameList(text))
  const separator = text.includes('/') ? '/' : defaultDelimiter
  if (separator === '/' && text.includes(defaultDelimiter)) {
    const bySlash = formatNameList(splitNames(text, ['/']))
    const byBoth = formatIdentifierText(splitNames(text, ['/', defaultDelimiter]))
    throw refusal(
      'invalid_id',
      `the id ${quoteForMessage(text)} has both "/" and "${defaultDelimiter}"; expected ${byBoth}, or ${bySlash}`,
    )
  }
  return parseIdentifier(text, separator)
}

function parseNameList(text: string): readonly string[] {
  let names: unknown
  try {
    names = JSON.parse(text)
  } catch {
    // Reported below.
  }
  if (Array.isArray(names) && names.every((name) => typeof name === 'string')) return names
  throw refusal(
    'invalid_id',
    `the id ${quoteForMessage(text)} is not a list of names; expected such as ["prod", "sales"]`,
  )
}

/**
 * Describes the separator that a text contains although it should be one name, and what `expected` returns; undefined if it
 * contains none. A slash is always a separator.
 */
export function describeJoinedName(
  name: string,
  separators: readonly string[],
  expected: () => string,
): string | undefined {
  const separator = ['/', ...separators].find((each) => name.includes(each))
  if (separator === undefined) return undefined
  return `${quoteForMessage(name)} contains ${quoteForMessage(separator)}, which separates names; expected ${expected()}`
}

/** Splits a text at each of the separators. */
export function splitNames(text: string, separators: readonly string[]): readonly string[] {
  return separators
    .reduce((names, separator) => names.flatMap((name) => name.split(separator)), [text])
    .filter((name) => name !== '')
}

/**
 * Formats an id for an error of the catalog API: `"prod$sales"`, as in a path, or `the root`. A slash would be redacted as
 * part of a path of the server when the error passes a gateway.
 */
export function formatIdentifierForMessage(id: Identifier): string {
  if (id.length === 0) return 'the root'
  return isUnambiguous(id)
    ? quoteForMessage(id.join(defaultDelimiter))
    : truncateForMessage(formatNameList(id))
}

export function namespaceNotFound(id: Identifier): CatalogError {
  return new CatalogError('NamespaceNotFound', `there is no namespace ${formatIdentifierForMessage(id)}`)
}

/** No other error of the catalog API means a missing function or secret. */
export function tableNotFound(id: Identifier, kind: ObjectKind = 'table'): CatalogError {
  return new CatalogError('TableNotFound', `there is no ${kind} ${formatIdentifierForMessage(id)}`)
}

/** Also for a missing table: these operations define no other 404. */
export function transactionNotFound(id: Identifier): CatalogError {
  return new CatalogError(
    'TransactionNotFound',
    `there is no transaction ${quoteForMessage(id.at(-1) ?? '')} of a table ${formatIdentifierForMessage(id.slice(0, -1))}`,
  )
}
