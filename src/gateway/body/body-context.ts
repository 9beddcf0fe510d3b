import { InterfaceError, refusal } from '../../interface/errors.ts'
import { show } from '../../interface/identifiers.ts'
import { headerOfContextKey } from '../context-keys.ts'
import type { Received } from '../context.ts'

/** Throws InvalidInput (400) for a `context` that is no object of strings, or sets what only headers or the gateway may. */
export function assertContext(context: unknown): void {
  if (context === null) return
  if (typeof context !== 'object' || Array.isArray(context)) {
    throw refusal('invalid_context_key', '"context" in the body is not an object of strings')
  }
  for (const [key, value] of Object.entries(context)) {
    if (typeof value !== 'string')
      throw refusal('invalid_context_key', `the context entry ${show(key)} in the body is not a string`)
    const header = headerOfContextKey(key)
    if (header instanceof InterfaceError) throw header
  }
}

/** Whether a header of the request says the same as a context entry of the body: then the header wins. */
export function isOverruled(key: string, { head }: Received): boolean {
  const name = headerOfContextKey(key)
  return head.headers.some((header, index) => index % 2 === 0 && header === name)
}
