import { errorCodes, type ErrorName } from './errors.ts'

/** An error that another server answered, in the terms of the interface. */
export interface ForeignError {
  readonly kind: ErrorName
  /** Whether the body names that kind by its code; else only the status tells it. */
  readonly isNamed: boolean
  /** What the body says; not yet judged to be safe to show. */
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
 * Reads an answer with a status from 400 on, of whatever shape: HTML, cut short, compressed, nothing. Code and message
 * of an ErrorResponse are kept; a detail may hold a stack trace, and is not.
 */
export function readForeignError(status: number, body: Uint8Array | undefined): ForeignError {
  const sent = parse(body)
  const kind = nameOfCode.get(sent['code'])
  const message = sent['error']
  return {
    kind: kind ?? kindOf(status),
    isNamed: kind !== undefined,
    message: typeof message === 'string' && message !== '' ? message : undefined,
  }
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
