import { errorCodes, InterfaceError, type ErrorName } from '../interface/errors.ts'
import type { UpstreamAnswer } from './exchange.ts'
import { WatchedJson } from './json-watch.ts'
import { joined } from './read-body.ts'

const nameOfStatus: Readonly<Record<number, ErrorName>> = {
  400: 'InvalidInput',
  403: 'PermissionDenied',
  404: 'Unsupported',
  405: 'Unsupported',
  406: 'Unsupported',
  409: 'ConcurrentModification',
  413: 'InvalidInput',
  415: 'InvalidInput',
  422: 'InvalidInput',
  429: 'Throttling',
  501: 'Unsupported',
  502: 'ServiceUnavailable',
  503: 'ServiceUnavailable',
  504: 'ServiceUnavailable',
}

const nameOfCode: ReadonlyMap<unknown, ErrorName> = new Map(
  Object.entries(errorCodes).map(([name, { code }]) => [code, name as ErrorName]),
)

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
  const sent = parse(body)
  const name =
    nameOfCode.get(sent?.['code']) ?? nameOfStatus[status] ?? (status < 500 ? 'InvalidInput' : 'Internal')
  const retryAfter = valueOf(headers, 'retry-after')
  return new InterfaceError(name, messageOf(status, sent?.['error']), {
    status,
    ...(retryAfter !== undefined && { headers: { 'retry-after': retryAfter } }),
  })
}

function messageOf(status: number, sent: unknown): string {
  if (status >= 500) return 'the catalog failed to answer the request'
  return typeof sent === 'string' && sent !== ''
    ? sent
    : `the catalog refused the request with status ${status}`
}

function valueOf(headers: readonly string[], name: string): string | undefined {
  const index = headers.findIndex((header, position) => position % 2 === 0 && header === name)
  return index === -1 ? undefined : headers[index + 1]
}

function failed(message: string, cause?: unknown): InterfaceError {
  return new InterfaceError('ServiceUnavailable', message, { status: 502, cause })
}

/**
 * The body of an answer without the members that carry storage credentials, at any depth.
 * Throws ServiceUnavailable (502) for a body that is not JSON, since nothing can be said of what it holds.
 */
export function withoutCredentials(body: Buffer): Buffer {
  if (body.length === 0) return body
  const text = new WatchedJson({ name: (name) => (isCredential(name) ? 'removal' : 'members') }, 0)
  try {
    text.push(body)
    text.end()
    return joined(text.takeRest())
  } catch (error) {
    throw failed('the answer of the catalog is not JSON', error)
  }
}

function isCredential(name: string): boolean {
  return name === 'storage_options' || name === 'expires_at_millis'
}

function parse(body: Buffer | undefined): Record<string, unknown> | undefined {
  if (body === undefined || body.length === 0) return undefined
  try {
    const value: unknown = JSON.parse(body.toString('utf8'))
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined
  } catch {
    return undefined
  }
}
