import { CatalogError } from '../../catalog-api/catalog-error.ts'
import { getMembers } from '../../lib/json/is-object.ts'
import { contextKeyToHeader } from '../context-keys.ts'
import type { Received } from '../context.ts'
import { hasHeader } from '../../lib/http/header-list.ts'

/** Throws InvalidInput (400) if the context of a body contains a key that only headers or the gateway may set. */
export function assertBodyContext(context: unknown): void {
  for (const key of Object.keys(getMembers(context))) {
    const header = contextKeyToHeader(key)
    if (header instanceof CatalogError) throw header
  }
}

/** Whether a header of the request has the same meaning as a context entry of the body; the header takes precedence. */
export function isOverriddenByHeader(key: string, { head }: Received): boolean {
  const name = contextKeyToHeader(key)
  return typeof name === 'string' && hasHeader(head.headers, name)
}
