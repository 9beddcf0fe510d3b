import { errorCodes, InterfaceError, type ErrorName, type ErrorResponse } from '../interface/errors.ts'
import { cutSpans, scanMembers } from './json-scan.ts'
import { AnswerTooLarge, type UpstreamAnswer } from './exchange.ts'

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

const knownCodes: ReadonlySet<unknown> = new Set(Object.values(errorCodes).map(({ code }) => code))

/**
 * An error of the upstream in the shape of the interface, whatever shape it came in. The code and, for errors of
 * the request, the message are kept; a detail, which may hold a stack trace, and the messages of failures are not.
 * That the upstream refuses the credentials of the gateway is no fault of the client: 502.
 */
export function normalizeError(
  answer: UpstreamAnswer,
  requestId: string,
): { status: number; body: ErrorResponse } {
  const { status } = answer
  if (status === 401 || status === 407)
    return failed('the catalog does not accept the credential of the gateway', requestId)
  if (status < 400) return failed('the catalog answered with a redirect, which is not followed', requestId)
  const sent = parse(answer.body)
  const code = knownCodes.has(sent?.['code']) ? Number(sent?.['code']) : codeOf(status)
  const message = sent?.['error']
  const error =
    status < 500 && typeof message === 'string' && message !== ''
      ? message
      : status < 500
        ? `the catalog refused the request with status ${status}`
        : 'the catalog failed to answer the request'
  return { status, body: { error, code, instance: requestId } }
}

function failed(message: string, requestId: string): { status: number; body: ErrorResponse } {
  return { status: 502, body: new InterfaceError('ServiceUnavailable', message).toResponse(requestId) }
}

/** A failure of the transport to the upstream as an error of the interface: 502, 503 or 504. */
export function transportError(error: unknown): InterfaceError {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (error instanceof AnswerTooLarge)
    return unavailable(502, 'the answer of the catalog is too large', error)
  switch (code) {
    case 'UND_ERR_HEADERS_TIMEOUT':
    case 'UND_ERR_BODY_TIMEOUT':
      return unavailable(504, 'the catalog did not answer in time', error)
    case 'UND_ERR_CONNECT_TIMEOUT':
      return unavailable(504, 'the catalog could not be reached in time', error)
    case 'UND_ERR_CLOSED':
    case 'UND_ERR_DESTROYED':
      return unavailable(503, 'the gateway is shutting down', error)
    default:
      return unavailable(502, 'the catalog could not be reached, or broke off', error)
  }
}

/** Whether a failed exchange is certain not to have reached the upstream. */
export function neverSent(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return [
    'ECONNREFUSED',
    'ENOTFOUND',
    'EAI_AGAIN',
    'EHOSTUNREACH',
    'ENETUNREACH',
    'UND_ERR_CONNECT_TIMEOUT',
  ].includes(code)
}

/**
 * The body of an answer without the members that carry storage credentials, at any depth.
 * Throws ServiceUnavailable (502) for a body that is not JSON, since nothing can be said of what it holds.
 */
export function withoutCredentials(body: Buffer): Buffer {
  if (body.length === 0) return body
  const text = body.toString('utf8')
  try {
    JSON.parse(text)
    return Buffer.from(cutSpans(text, scanMembers(text, isCredential)))
  } catch (error) {
    throw unavailable(502, 'the answer of the catalog is not JSON', error)
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

function codeOf(status: number): number {
  return errorCodes[nameOfStatus[status] ?? (status < 500 ? 'InvalidInput' : 'Internal')].code
}

function unavailable(status: number, message: string, cause: unknown): InterfaceError {
  return new InterfaceError('ServiceUnavailable', message, { status, cause })
}
