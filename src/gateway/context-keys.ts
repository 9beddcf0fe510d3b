import { refusal, type CatalogError } from '../catalog-api/catalog-error.ts'
import { headerDialects, reservedContextPrefix } from '../catalog-api/headers.ts'
import { quoteForMessage } from '../catalog-api/identifiers.ts'
import { allowedRequestHeaders } from '../config/upstream/allowed-headers-settings.ts'

/** Some catalogs, and the clients they are made with, turn an entry of that key into the header behind the prefix. */
const headerPrefix = /^headers?\./
const contextPrefixes = [headerDialects.catalog.context, headerDialects.lance.context]

/** Of prefixes before one another: what is deeper is no key of anybody, and would take time to read. */
const maxPrefixDepth = 4

/**
 * The header (lower case) that says the same as a context entry of that key, in a header as in a body: `Trace` is
 * `x-catalog-ctx-trace`, and so is `headers.X-Lance-Ctx-Trace`. InvalidInput (400), not thrown, for a key that is
 * reserved for the gateway, or that could become a header which no caller may send.
 */
export function contextKeyToHeader(key: string): string | CatalogError {
  // Through upper case, so that the long s is an s, as it is to readers that fold by Unicode.
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
