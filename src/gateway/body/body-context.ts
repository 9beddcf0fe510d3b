import { invalidInput } from '../../interface/errors.ts'
import { apiKeyHeader, dialects, reservedContextPrefix } from '../../interface/headers.ts'
import { show } from '../../interface/identifiers.ts'
import type { Received } from '../stages.ts'

/** Keys that newer catalogs of the interface's relatives read as if they were headers. */
const headerPrefix = 'header.'
const contextPrefixes = [dialects.catalog.context, dialects.lance.context]
const credentials: ReadonlySet<string> = new Set([
  apiKeyHeader,
  'authorization',
  'cookie',
  'proxy-authorization',
])

/** Throws InvalidInput (400) for a `context` that is no object of strings, or sets what only headers or the gateway may. */
export function assertContext(context: unknown): void {
  if (context === null) return
  if (typeof context !== 'object' || Array.isArray(context)) {
    throw invalidInput('"context" in the body is not an object of strings')
  }
  for (const [key, value] of Object.entries(context)) {
    if (typeof value !== 'string')
      throw invalidInput(`the context entry ${show(key)} in the body is not a string`)
    if (isReserved(key)) throw invalidInput(`the context key ${show(key)} is reserved for the gateway`)
    const header = headerNamedBy(key)
    if (header !== undefined && credentials.has(header)) {
      throw invalidInput(`the context key ${show(key)} carries a credential; send it as a header`)
    }
  }
}

/** Whether a header of the request says the same as a context entry of the body: then the header wins. */
export function isOverruled(key: string, { headers }: Received): boolean {
  const name = dialects.catalog.context + contextKeyOf(key)
  return headers.some((header, index) => index % 2 === 0 && header === name)
}

function isReserved(key: string): boolean {
  return contextKeyOf(key).startsWith(reservedContextPrefix)
}

/** The key as it is in a header, in lower case: `header.x-catalog-ctx-Trace` is `trace` too. */
function contextKeyOf(key: string): string {
  const name = headerNamedBy(key)
  const prefix = name && contextPrefixes.find((prefix) => name.startsWith(prefix))
  return name === undefined || prefix === undefined ? normalized(key) : name.slice(prefix.length)
}

function headerNamedBy(key: string): string | undefined {
  const name = normalized(key)
  return name.startsWith(headerPrefix) ? name.slice(headerPrefix.length).trim() : undefined
}

function normalized(key: string): string {
  return key.trim().toLowerCase()
}
