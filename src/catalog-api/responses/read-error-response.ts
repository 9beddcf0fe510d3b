import { getKeys } from '../../lib/get-keys.ts'
import { getMembers } from '../../lib/json/is-object.ts'
import { errorCodes, type ErrorName } from '../catalog-error.ts'
import { UpstreamError, collectCredentials, toPublicMessage } from './redact-error-text.ts'

export interface UpstreamErrorResponse {
  readonly kind: ErrorName
  /** Whether the body has an error code of the interface; otherwise the kind derives from the status. */
  readonly hasCatalogCode: boolean
  /** First line of the message, without paths. For a failure it may still reveal internals. */
  readonly message: string | undefined
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
  getKeys(errorCodes).map((name) => [errorCodes[name].code, name]),
)

/**
 * Accepts any body with a status of 400 or more. The detail is dropped: it may hold a stack trace. `requestHeaders`
 * alternates names and values.
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

export function isErrorResponse(body: Uint8Array | undefined): boolean {
  return errorNamesByCode.has(parse(body)['code'])
}

function errorNameForStatus(status: number): ErrorName {
  return errorNamesByStatus[status] ?? (status < 500 ? 'InvalidInput' : 'Internal')
}

function parse(body: Uint8Array | undefined): Readonly<Record<string, unknown>> {
  try {
    return getMembers(JSON.parse(new TextDecoder().decode(body)))
  } catch {
    return {}
  }
}
