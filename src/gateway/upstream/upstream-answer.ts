import { InterfaceError } from '../../interface/errors.ts'
import { readForeignError } from '../../interface/foreign-errors.ts'
import type { UpstreamAnswer } from './exchange.ts'
import { WatchedJson } from '../body/json-watch.ts'
import { joined } from '../body/read-body.ts'

/**
 * An answer of the upstream that is no success, in the shape of the interface, whatever shape it came in: HTML, cut
 * short, compressed, nothing. The code, `retry-after` and, for errors of the request, the message are kept; a detail,
 * which may hold a stack trace, and the messages of failures are not. That the upstream refuses the credentials of
 * the gateway is no fault of the client: 502.
 */
export function errorOf({ status, headers, body }: UpstreamAnswer): InterfaceError {
  if (status === 401 || status === 407)
    return failed('the catalog does not accept the credential of the gateway')
  if (status < 400) return failed('the catalog answered with a redirect, which is not followed')
  const { kind, message } = readForeignError(status, body)
  const retryAfter = valueOf(headers, 'retry-after')
  return new InterfaceError(kind, messageOf(status, message), {
    status,
    ...(retryAfter !== undefined && { headers: { 'retry-after': retryAfter } }),
  })
}

function messageOf(status: number, sent: string | undefined): string {
  if (status >= 500) return 'the catalog failed to answer the request'
  return sent ?? `the catalog refused the request with status ${status}`
}

function valueOf(headers: readonly string[], name: string): string | undefined {
  const index = headers.findIndex((header, position) => position % 2 === 0 && header === name)
  return index === -1 ? undefined : headers[index + 1]
}

function failed(message: string, cause?: unknown): InterfaceError {
  return new InterfaceError('ServiceUnavailable', message, { status: 502, cause })
}

/** The members of a response that carry storage credentials. */
export const credentialMembers = ['storage_options', 'expires_at_millis'] as const

/**
 * The body of a response without the members of those names, at any depth.
 * Throws ServiceUnavailable (502) for a body that is not JSON, since nothing can be said of what it holds.
 */
export function withoutMembers(body: Buffer, names: ReadonlySet<string>): Buffer {
  if (body.length === 0) return body
  const text = new WatchedJson({ name: (name) => (names.has(name) ? 'removal' : 'members') }, 0)
  try {
    text.push(body)
    text.end()
    return joined(text.takeRest())
  } catch (error) {
    throw failed('the answer of the catalog is not JSON', error)
  }
}
