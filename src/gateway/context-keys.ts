import { refusal, type CatalogError } from '../catalog-api/catalog-error.ts'
import { headerDialects, reservedContextPrefix } from '../catalog-api/headers.ts'
import { quoteForMessage } from '../catalog-api/identifiers.ts'
import { allowedRequestHeaders } from '../config/index.ts'

/** Some catalogs and their clients turn an entry with such a key into the header named after the prefix. */
const headerPrefix = /^headers?\./
const contextPrefixes = [headerDialects.catalog.context, headerDialects.lance.context]

/** Maximum number of nested prefixes: no legitimate key has more, and parsing them takes time. */
const maxPrefixDepth = 4

/**
 * Maps a context key to the equivalent header (lower case): `Trace` and `headers.X-Lance-Ctx-Trace` are both
 * `x-catalog-ctx-trace`. Returns, not throws, InvalidInput (400) for a key that is reserved for the gateway, or that
 * could become a header which callers may not send.
 */
export function contextKeyToHeader(key: string): string | CatalogError {
  // Upper case first: the long s becomes s, as it does for readers that fold by Unicode.
  let name = key.toUpperCase().toLowerCase().trim()
  let isHeader = false
  for (let depth = 0; ; depth += 1) {
    const header = headerPrefix.exec(name)?.[0]
    const prefix = header ?? contextPrefixes.find((prefix) => name.startsWith(prefix))
    if (prefix === undefined) break
    if (depth === maxPrefixDepth) return headerKeyError(key, name)
    isHeader = header !== undefined
    name = name.slice(prefix.length).trim()
  }
  if (isHeader) {
    return allowedRequestHeaders.has(name) ? name : headerKeyError(key, name)
  }
  if (name.startsWith(reservedContextPrefix)) {
    return refusal(
      'invalid_context_key',
      `the context key ${quoteForMessage(key)} is reserved for the gateway`,
    )
  }
  return headerDialects.catalog.context + name
}

function headerKeyError(key: string, name: string): CatalogError {
  return refusal(
    'invalid_context_key',
    `the context key ${quoteForMessage(key)} names ${quoteForMessage(name)}, which some catalogs read as a header; send it as a header`,
  )
}
