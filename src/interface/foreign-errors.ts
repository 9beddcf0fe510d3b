import { errorCodes, type ErrorName } from './errors.ts'

/** An error that another server answered, in the terms of the interface. */
export interface ForeignError {
  readonly kind: ErrorName
  /** What it says of the request; undefined where it says nothing that is safe to show. */
  readonly message: string | undefined
}

const nameOfStatus: Readonly<Record<number, ErrorName>> = {
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

const nameOfCode = new Map<unknown, ErrorName>(
  Object.entries(errorCodes).map(([name, { code }]) => [code, name as ErrorName]),
)

/**
 * Reads an answer with a status from 400 on, of whatever shape: code and message of an ErrorResponse are kept. Any
 * other body (a page of a proxy, plain text, nothing) says no more than its status. A detail, and the message of an
 * internal failure, may hold a stack trace, and are not kept.
 */
export function readForeignError(status: number, body: Uint8Array | undefined): ForeignError {
  const sent = parse(body)
  const kind = nameOfCode.get(sent['code'])
  if (kind === undefined) return { kind: kindOf(status), message: undefined }
  const message = sent['error']
  const isShown = kind !== 'Internal' && typeof message === 'string' && message !== ''
  return { kind, message: isShown ? message : undefined }
}

function kindOf(status: number): ErrorName {
  return nameOfStatus[status] ?? (status < 500 ? 'InvalidInput' : 'Internal')
}

function parse(body: Uint8Array | undefined): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(body))
    return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {}
  } catch {
    return {}
  }
}
