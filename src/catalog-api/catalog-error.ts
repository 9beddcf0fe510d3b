/** Error codes of the catalog API with their default HTTP status. Clients distinguish errors by the number alone. */
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

export type ErrorName = keyof typeof errorCodes

interface Refusal {
  readonly kind: ErrorName
  /** Default: the status of the error code. */
  readonly status?: number
  /** Log level of the request; default info. */
  readonly level?: 'warn' | 'error'
  /** Seconds for `retry-after`, unless the error computes them. */
  readonly retryAfter?: number
}

/** Every reason to refuse a request: `reason` in metrics, log lines and audit records, with response and log level. */
const table = {
  // receive
  malformed_request: { kind: 'InvalidInput' },
  incomplete_request: { kind: 'InvalidInput' },
  headers_too_large: { kind: 'InvalidInput', status: 431 },
  request_timeout: { kind: 'InvalidInput', status: 408 },
  tls_on_plain_port: { kind: 'InvalidInput' },
  connect_not_supported: { kind: 'Unsupported', status: 405 },
  too_many_headers: { kind: 'InvalidInput', status: 431 },
  unsupported_http_version: { kind: 'InvalidInput', status: 505 },
  unsupported_transfer_encoding: { kind: 'InvalidInput' },
  missing_host: { kind: 'InvalidInput' },
  invalid_host: { kind: 'InvalidInput' },
  unsupported_expectation: { kind: 'InvalidInput', status: 417 },
  repeated_header: { kind: 'InvalidInput' },
  ambiguous_header: { kind: 'InvalidInput' },
  invalid_client_address: { kind: 'InvalidInput' },
  invalid_client_certificate: { kind: 'InvalidInput' },
  unknown_dialect: { kind: 'InvalidInput' },
  invalid_context_key: { kind: 'InvalidInput' },
  // match
  malformed_target: { kind: 'InvalidInput' },
  target_too_long: { kind: 'InvalidInput', status: 414 },
  unknown_route: { kind: 'Unsupported', status: 404 },
  unknown_operation: { kind: 'Unsupported' },
  method_not_allowed: { kind: 'Unsupported', status: 405 },
  unexpected_body: { kind: 'InvalidInput' },
  upgrade_not_allowed: { kind: 'InvalidInput' },
  invalid_id: { kind: 'InvalidInput' },
  wrong_database: { kind: 'InvalidInput' },
  not_in_database: { kind: 'InvalidInput' },
  invalid_query: { kind: 'InvalidInput' },
  misplaced_parameter: { kind: 'InvalidInput' },
  // authenticate
  missing_credential: { kind: 'Unauthenticated' },
  empty_credential: { kind: 'InvalidInput' },
  conflicting_credentials: { kind: 'Unauthenticated' },
  malformed_authorization: { kind: 'InvalidInput' },
  unsupported_scheme: { kind: 'Unauthenticated' },
  malformed_api_key: { kind: 'Unauthenticated' },
  unknown_api_key: { kind: 'Unauthenticated' },
  wrong_api_key_secret: { kind: 'Unauthenticated' },
  revoked_api_key: { kind: 'Unauthenticated' },
  api_key_not_yet_valid: { kind: 'Unauthenticated' },
  expired_api_key: { kind: 'Unauthenticated' },
  malformed_token: { kind: 'Unauthenticated' },
  token_too_long: { kind: 'Unauthenticated' },
  wrong_token_type: { kind: 'Unauthenticated' },
  disallowed_algorithm: { kind: 'Unauthenticated' },
  unsupported_crit: { kind: 'Unauthenticated' },
  unknown_issuer: { kind: 'Unauthenticated' },
  wrong_audience: { kind: 'Unauthenticated' },
  unknown_kid: { kind: 'Unauthenticated' },
  unusable_key: { kind: 'Unauthenticated' },
  invalid_signature: { kind: 'Unauthenticated' },
  missing_expiry: { kind: 'Unauthenticated' },
  token_not_yet_valid: { kind: 'Unauthenticated' },
  token_lifetime_too_long: { kind: 'Unauthenticated' },
  unproven_binding: { kind: 'Unauthenticated' },
  inactive_token: { kind: 'Unauthenticated' },
  invalid_subject: { kind: 'Unauthenticated' },
  invalid_groups: { kind: 'Unauthenticated' },
  expired_token: { kind: 'Unauthenticated' },
  jwks_unavailable: { kind: 'ServiceUnavailable', level: 'warn', retryAfter: 5 },
  introspection_unavailable: { kind: 'ServiceUnavailable', level: 'warn', retryAfter: 5 },
  untrusted_certificate: { kind: 'Unauthenticated' },
  unknown_certificate_issuer: { kind: 'Unauthenticated' },
  resumed_tls_session: { kind: 'Unauthenticated' },
  expired_certificate: { kind: 'Unauthenticated' },
  invalid_certificate_name: { kind: 'Unauthenticated' },
  application_refused: { kind: 'Unauthenticated' },
  application_failed: { kind: 'ServiceUnavailable', level: 'error' },
  too_many_failed_authentications: { kind: 'Throttling' },
  cross_site: { kind: 'PermissionDenied' },
  // authorize
  no_rule: { kind: 'PermissionDenied' },
  denied: { kind: 'PermissionDenied' },
  permissions_changed: { kind: 'ServiceUnavailable', retryAfter: 1 },
  // limit
  rate_limited: { kind: 'Throttling' },
  concurrency_limited: { kind: 'Throttling' },
  overloaded: { kind: 'ServiceUnavailable', level: 'warn' },
  // check
  body_timeout: { kind: 'InvalidInput', status: 408 },
  body_too_large: { kind: 'InvalidInput', status: 413 },
  batch_too_large: { kind: 'InvalidInput', status: 413 },
  incomplete_body: { kind: 'InvalidInput' },
  malformed_body: { kind: 'InvalidInput' },
  unsupported_content_type: { kind: 'InvalidInput' },
  unsupported_content_encoding: { kind: 'InvalidInput' },
  restricted_column: { kind: 'InvalidInput' },
  restricted_filter: { kind: 'InvalidInput' },
  restricted_member: { kind: 'InvalidInput' },
  restricted_version: { kind: 'InvalidInput' },
  unknown_extension_type: { kind: 'InvalidInput' },
  unknown_metadata: { kind: 'InvalidInput' },
  ambiguous_member: { kind: 'InvalidInput' },
  unknown_member: { kind: 'InvalidInput' },
  repeated_member: { kind: 'InvalidInput' },
  conflicting_values: { kind: 'InvalidInput' },
  invalid_fact: { kind: 'InvalidInput' },
  invalid_reference: { kind: 'InvalidInput' },
  invalid_body: { kind: 'InvalidInput' },
  invalid_page_token: { kind: 'InvalidInput' },
  unknown_multipart_write: { kind: 'InvalidInput' },
  multiple_upstreams: { kind: 'InvalidInput' },
  mounted_namespace_not_empty: { kind: 'NamespaceNotEmpty' },
  mounted_namespace_exists: { kind: 'NamespaceAlreadyExists' },
  mounted_namespace_in_place: { kind: 'TableAlreadyExists' },
  // audit
  audit_queue_full: { kind: 'ServiceUnavailable', level: 'error', retryAfter: 1 },
  audit_write_failed: { kind: 'ServiceUnavailable', level: 'error', retryAfter: 1 },
  audit_closed: { kind: 'ServiceUnavailable', level: 'error', retryAfter: 1 },
  audit_timeout: { kind: 'ServiceUnavailable', level: 'error', retryAfter: 5 },
  // forward
  circuit_open: { kind: 'ServiceUnavailable', level: 'warn' },
  upstream_queue_full: { kind: 'ServiceUnavailable', level: 'warn', retryAfter: 1 },
  upstream_response_too_large: { kind: 'ServiceUnavailable', status: 502, level: 'warn' },
  upstream_timeout: { kind: 'ServiceUnavailable', status: 504, level: 'warn' },
  upstream_connect_timeout: { kind: 'ServiceUnavailable', status: 504, level: 'warn' },
  upstream_unreachable: { kind: 'ServiceUnavailable', status: 502, level: 'warn' },
  upstream_request_invalid: { kind: 'ServiceUnavailable', status: 502, level: 'warn' },
  upstream_response_invalid: { kind: 'ServiceUnavailable', status: 502, level: 'warn' },
  upstream_credential_rejected: { kind: 'ServiceUnavailable', status: 502, level: 'error' },
  upstream_redirect: { kind: 'ServiceUnavailable', status: 502, level: 'warn' },
  shutting_down: { kind: 'ServiceUnavailable', level: 'warn' },
  // any stage
  invalid_request: { kind: 'InvalidInput' },
  catalog_error: { kind: 'Internal' },
  internal_error: { kind: 'Internal', level: 'error' },
} as const satisfies Record<string, Refusal>

export type RefusalReason = keyof typeof table

export const refusals: Readonly<Record<RefusalReason, Refusal>> = table

export interface CatalogErrorOptions {
  /** Default `invalid_request` for InvalidInput, `internal_error` for Internal, else `catalog_error`. */
  readonly reason?: RefusalReason
  /** Default: that of the reason, or else that of the error code. */
  readonly status?: number
  /** More for the reader of the response; never a path, a stack or a secret. */
  readonly detail?: string
  /** Of the error of an upstream. */
  readonly context?: Readonly<Record<string, string>> | undefined
  /** Default: the `retry-after` of the reason, if it has one. */
  readonly headers?: Readonly<Record<string, string>>
  /** Internal cause: logged, never sent. */
  readonly cause?: unknown
}

/** An error sent to the client. Its message states received and expected values, and must be safe to show. */
export class CatalogError extends Error {
  override readonly name = 'CatalogError'
  readonly kind: ErrorName
  readonly reason: RefusalReason
  readonly code: number
  readonly status: number
  readonly detail: string | undefined
  readonly context: Readonly<Record<string, string>> | undefined
  readonly headers: Readonly<Record<string, string>>

  constructor(kind: ErrorName, message: string, options: CatalogErrorOptions = {}) {
    // Refusals are frequent and their messages say enough; capturing a stack would dominate their cost.
    const { stackTraceLimit } = Error
    Error.stackTraceLimit = 0
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    Error.stackTraceLimit = stackTraceLimit
    this.kind = kind
    this.reason = options.reason ?? defaultReason(kind)
    const { status = errorCodes[kind].status, retryAfter } = refusals[this.reason]
    this.code = errorCodes[kind].code
    this.status = options.status ?? status
    this.detail = options.detail
    this.context = options.context
    this.headers = options.headers ?? (retryAfter === undefined ? {} : { 'retry-after': `${retryAfter}` })
  }

  /** `instance` is the request id, as in `x-request-id`, the log and the audit record. */
  toResponse(instance: string) {
    const { message, code, detail, context } = this
    return { error: message, code, detail, context, instance }
  }
}

function defaultReason(kind: ErrorName): RefusalReason {
  if (kind === 'InvalidInput') return 'invalid_request'
  return kind === 'Internal' ? 'internal_error' : 'catalog_error'
}

/** The kind comes from the reason. */
export function refusal(
  reason: RefusalReason,
  message: string,
  options: Omit<CatalogErrorOptions, 'reason'> = {},
): CatalogError {
  return new CatalogError(refusals[reason].kind, message, { ...options, reason })
}

/** InvalidInput (400, code 13). */
export function invalidInput(message: string, options?: CatalogErrorOptions): CatalogError {
  return new CatalogError('InvalidInput', message, options)
}
