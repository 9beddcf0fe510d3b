import { getKeys, getMembers } from '../../lib/index.ts'
import { errorCodes, type ErrorName } from '../catalog-error.ts'
import { UpstreamError, collectCredentials, toPublicMember, toPublicMessage } from './redact-error-text.ts'

export interface UpstreamErrorResponse {
  readonly kind: ErrorName
  /** Whether the body has an error code of the interface; otherwise the kind derives from the status. */
  readonly hasCatalogCode: boolean
  /** First line of the message, without paths. For a failure it may still reveal internals. */
  readonly message: string | undefined
  /** Redacted like the message; undefined if there is none. */
  readonly context: Readonly<Record<string, string>> | undefined
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
 * alternates names and values. `reads`: the whole error, or no text of it, because it may repeat a secret.
 */
export function parseErrorResponse(
  status: number,
  body: Uint8Array | undefined,
  requestHeaders: readonly string[],
  reads: 'all' | 'code' = 'all',
): UpstreamErrorResponse {
  const secrets = collectCredentials(requestHeaders)
  const sent = parse(body)
  const kind = errorNamesByCode.get(sent['code'])
  const message = sent['error']
  // RFC 9110, section 15.6.2: whatever the code, the server does not have the operation.
  const isMissing = status === 501 || (status === 500 && isNotImplemented(message))
  const shown = reads === 'all'
  return {
    kind: isMissing ? 'Unsupported' : (kind ?? errorNameForStatus(status)),
    hasCatalogCode: kind !== undefined,
    message: shown && typeof message === 'string' ? toPublicMessage(message, secrets) : undefined,
    context: shown ? readContext(sent['context'], secrets) : undefined,
    cause: new UpstreamError(status, shown ? body : undefined, secrets),
  }
}

/** As the REST adapter of Lance says it, with the code of an internal error. */
function isNotImplemented(message: unknown): boolean {
  return typeof message === 'string' && /\bnot implemented\b/i.test(message)
}

const maxContextEntries = 16
const contextKey = /^[A-Za-z][\w.-]{0,63}$/

function readContext(
  sent: unknown,
  secrets: readonly string[],
): Readonly<Record<string, string>> | undefined {
  const entries = Object.entries(getMembers(sent))
    .slice(0, maxContextEntries)
    .flatMap(([key, value]): [string, string][] => {
      if (typeof value !== 'string' || !contextKey.test(key)) return []
      const shown = toPublicMember(key, value, secrets)
      return shown === undefined ? [] : [[key, shown]]
    })
  return entries.length === 0 ? undefined : Object.fromEntries(entries)
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
