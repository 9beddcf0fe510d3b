import { errorCodes, type ErrorName } from '../catalog-error.ts'
import { UpstreamError, collectCredentials, toPublicMessage } from './redact-error-text.ts'

/** An error that another server answered, in the terms of the interface. */
export interface UpstreamErrorResponse {
  readonly kind: ErrorName
  /** Whether the body names that kind by its code; else only the status tells it. */
  readonly hasCatalogCode: boolean
  /** The first line of what the body says, without paths; that of a failure may still tell how the server works. */
  readonly message: string | undefined
  /** All that it says, for the log. */
  readonly cause: UpstreamError
}

const errorNamesByStatus: Readonly<Record<number, ErrorName>> = {
  401: 'Unauthenticated',
  403: 'PermissionDenied',
  404: 'Unsupported',
  405: 'Unsupported',
  406: 'Unsupported',
  409: 'ConcurrentModification',
  429: 'Throttling',
  501: 'Unsupported',
  502: 'ServiceUnavailable',
  503: 'ServiceUnavailable',
  504: 'ServiceUnavailable',
}

const errorNamesByCode = new Map<unknown, ErrorName>(
  Object.entries(errorCodes).map(([name, { code }]) => [code, name as ErrorName]),
)

/**
 * Reads an answer with a status from 400 on, of whatever shape: HTML, cut short, compressed, nothing. Code and message
 * of an ErrorResponse are kept; a detail may hold a stack trace, and is not. `requestHeaders`: names and values in turn.
 */
export function parseErrorResponse(
  status: number,
  body: Uint8Array | undefined,
  requestHeaders: readonly string[],
): UpstreamErrorResponse {
  const secrets = collectCredentials(requestHeaders)
  const sent = parse(body)
  const kind = errorNamesByCode.get(sent['code'])
  const message = sent['error']
  return {
    kind: kind ?? errorNameForStatus(status),
    hasCatalogCode: kind !== undefined,
    message: typeof message === 'string' ? toPublicMessage(message, secrets) : undefined,
    cause: new UpstreamError(status, body, secrets),
  }
}

/** Whether a body is an ErrorResponse with a code of the interface. */
export function isErrorResponse(body: Uint8Array | undefined): boolean {
  return errorNamesByCode.has(parse(body)['code'])
}

function errorNameForStatus(status: number): ErrorName {
  return errorNamesByStatus[status] ?? (status < 500 ? 'InvalidInput' : 'Internal')
}

function parse(body: Uint8Array | undefined): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(body))
    return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {}
  } catch {
    return {}
  }
}
