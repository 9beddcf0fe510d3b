/**
 * The closed set of error codes of the interface, each with the HTTP status that it is answered with.
 * Clients of the interface tell errors apart by the number alone.
 */
export const errorCodes = {
  Unsupported: { code: 0, status: 406 },
  NamespaceNotFound: { code: 1, status: 404 },
  NamespaceAlreadyExists: { code: 2, status: 409 },
  NamespaceNotEmpty: { code: 3, status: 409 },
  TableNotFound: { code: 4, status: 404 },
  TableAlreadyExists: { code: 5, status: 409 },
  TableIndexNotFound: { code: 6, status: 404 },
  TableIndexAlreadyExists: { code: 7, status: 409 },
  TableTagNotFound: { code: 8, status: 404 },
  TableTagAlreadyExists: { code: 9, status: 409 },
  TransactionNotFound: { code: 10, status: 404 },
  TableVersionNotFound: { code: 11, status: 404 },
  TableColumnNotFound: { code: 12, status: 404 },
  InvalidInput: { code: 13, status: 400 },
  ConcurrentModification: { code: 14, status: 409 },
  PermissionDenied: { code: 15, status: 403 },
  Unauthenticated: { code: 16, status: 401 },
  ServiceUnavailable: { code: 17, status: 503 },
  Internal: { code: 18, status: 500 },
  InvalidTableState: { code: 19, status: 409 },
  TableSchemaValidationError: { code: 20, status: 400 },
  Throttling: { code: 21, status: 429 },
  TableBranchNotFound: { code: 22, status: 404 },
  TableBranchAlreadyExists: { code: 23, status: 409 },
} as const

/** The name of an error code: `"TableNotFound"`. */
export type ErrorName = keyof typeof errorCodes

/** The body of every answer that is not a success. */
export interface ErrorResponse {
  readonly error: string
  readonly code: number
  readonly detail?: string
  /** The request id: the same as in `x-request-id`, the log and the audit record. */
  readonly instance: string
}

/** What an error may carry besides its name and message. */
export interface InterfaceErrorOptions {
  /** The HTTP status where it is not the one of the code: 404 and 405 of the router, 413, 431, 502, 504. */
  readonly status?: number
  /** More for the reader of the answer; never a path, a stack or a secret. */
  readonly detail?: string
  /** Headers of the answer, such as `www-authenticate`, `allow` or `retry-after`. */
  readonly headers?: Readonly<Record<string, string>>
  /** What went wrong inside; logged, never answered. */
  readonly cause?: unknown
}

/**
 * An error that is answered to the client in the shape of the interface.
 * Its message says what was sent and what was expected, and is safe to show.
 */
export class InterfaceError extends Error {
  override readonly name = 'InterfaceError'
  readonly kind: ErrorName
  readonly code: number
  readonly status: number
  readonly detail: string | undefined
  readonly headers: Readonly<Record<string, string>>

  constructor(kind: ErrorName, message: string, options: InterfaceErrorOptions = {}) {
    // A client is to blame, and the message says for what: the stack would be most of what a refusal costs.
    const { stackTraceLimit } = Error
    Error.stackTraceLimit = 0
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    Error.stackTraceLimit = stackTraceLimit
    this.kind = kind
    this.code = errorCodes[kind].code
    this.status = options.status ?? errorCodes[kind].status
    this.detail = options.detail
    this.headers = options.headers ?? {}
  }

  /** The body that answers this error; `instance` is the request id. */
  toResponse(instance: string): ErrorResponse {
    return {
      error: this.message,
      code: this.code,
      ...(this.detail === undefined ? {} : { detail: this.detail }),
      instance,
    }
  }
}

/** The 400 of the interface (code 13): the message says what was sent and what was expected. */
export function invalidInput(message: string, options?: InterfaceErrorOptions): InterfaceError {
  return new InterfaceError('InvalidInput', message, options)
}
