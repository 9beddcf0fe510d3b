import { CatalogError, refusal } from '../../catalog-api/catalog-error.ts'
import { quoteForMessage } from '../../catalog-api/identifiers.ts'
import { contextKeyToHeader } from '../context-keys.ts'
import type { Received } from '../context.ts'

/**
 * Throws InvalidInput (400) if `context` is not an object of strings, or contains a key that only headers or the
 * gateway may set.
 */
export function assertBodyContext(context: unknown): void {
  if (context === null) return
  if (typeof context !== 'object' || Array.isArray(context)) {
    throw refusal('invalid_context_key', '"context" in the body is not an object of strings')
  }
  for (const [key, value] of Object.entries(context)) {
    if (typeof value !== 'string')
      throw refusal(
        'invalid_context_key',
        `the context entry ${quoteForMessage(key)} in the body is not a string`,
      )
    const header = contextKeyToHeader(key)
    if (header instanceof CatalogError) throw header
  }
}

/** Whether a header of the request has the same meaning as a context entry of the body; the header takes precedence. */
export function isOverriddenByHeader(key: string, { head }: Received): boolean {
  const name = contextKeyToHeader(key)
  return head.headers.some((header, index) => index % 2 === 0 && header === name)
}
