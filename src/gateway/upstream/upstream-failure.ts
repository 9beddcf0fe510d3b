import { InterfaceError } from '../../interface/errors.ts'
import { isCatalogError } from '../../interface/foreign-errors.ts'
import { ClientDisconnected } from '../client-disconnected.ts'
import { AnswerTooLarge, ExchangeFailed, type UpstreamAnswer } from './exchange.ts'
import {
  RequestTimeout,
  TransportError,
  type TransportErrorCode,
} from '../../http1/client/transport-error.ts'

type Kind =
  | 'client'
  | 'too large'
  | 'too slow'
  | 'too slow to connect'
  | 'closing'
  | 'not sendable'
  | 'transport'

const answers: Readonly<Record<Exclude<Kind, 'client'>, readonly [status: number, message: string]>> = {
  'too large': [502, 'the answer of the catalog is too large'],
  'too slow': [504, 'the catalog did not answer in time'],
  'too slow to connect': [504, 'the catalog could not be reached in time'],
  closing: [503, 'the gateway is shutting down'],
  'not sendable': [502, 'the request could not be sent to the catalog'],
  transport: [502, 'the catalog could not be reached, or broke off'],
}

const kinds: Readonly<Partial<Record<TransportErrorCode, Kind>>> = {
  HEADERS_TIMEOUT: 'too slow',
  BODY_TIMEOUT: 'too slow',
  CONNECT_TIMEOUT: 'too slow to connect',
  CLIENT_CLOSED: 'closing',
  BAD_REQUEST: 'not sendable',
}

/** Whether that status says that a server, or the server behind a proxy, cannot serve requests now. */
export function isUnavailableStatus(status: number): boolean {
  return status === 502 || status === 503 || status === 504
}

/**
 * Whether a response says that the upstream cannot serve requests now. An error of the catalog itself, with a code of
 * the interface, does not: the catalog is there, and a caller may have provoked it.
 */
export function isUnavailable({ status, body }: UpstreamAnswer): boolean {
  return isUnavailableStatus(status) && !isCatalogError(body)
}

/** Whether it was the connection to the upstream that failed: not the client, nor the patience of the gateway. */
export function isTransportFailure(cause: unknown): boolean {
  const kind = kindOf(cause)
  return kind === 'transport' || kind === 'too slow to connect'
}

/**
 * What a client is answered for a failed exchange: 502, 503 or 504, or what was found wrong with the body that it was
 * sending. ClientDisconnected stays as it is, and so does what is no failed exchange.
 */
export function answerToFailure(error: unknown): unknown {
  if (!(error instanceof ExchangeFailed)) return error
  const { cause } = error
  const kind = kindOf(cause)
  if (kind === 'client') return cause
  const [status, message] = answers[kind]
  return new InterfaceError('ServiceUnavailable', message, { status, cause })
}

/** Why an exchange failed, in one word for the audit record: the code of a transport error, where there is one. */
export function reasonOfFailure(error: unknown): string {
  const cause = error instanceof ExchangeFailed ? error.cause : error
  if (cause instanceof InterfaceError) return cause.kind
  if (cause instanceof Error) return 'code' in cause ? String(cause.code) : cause.name
  return 'broken off'
}

function kindOf(cause: unknown): Kind {
  if (cause instanceof ClientDisconnected || cause instanceof InterfaceError) return 'client'
  if (cause instanceof AnswerTooLarge) return 'too large'
  if (cause instanceof RequestTimeout) return 'too slow'
  return (cause instanceof TransportError ? kinds[cause.code] : undefined) ?? 'transport'
}
