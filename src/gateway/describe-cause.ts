import type { CatalogError } from '../catalog-api/catalog-error.ts'
import { UpstreamError } from '../catalog-api/responses/redact-error-text.ts'

/**
 * Describes the cause of an error for the log: the stack of an internal error, else the message. Messages about invalid
 * JSON are left out: they quote it, secrets included.
 */
export function describeCause({ kind, cause }: CatalogError): string | undefined {
  if (!(cause instanceof Error)) return undefined
  if (cause instanceof SyntaxError) return cause.name
  if (cause instanceof UpstreamError) return cause.message
  return kind === 'Internal' ? cause.stack : String(cause)
}
