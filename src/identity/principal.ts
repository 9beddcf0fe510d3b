export const authenticationMethods = ['api-key', 'token', 'certificate', 'application'] as const

/**
 * The authenticated caller. API key names never contain `:`; other names are prefixed with that of their issuer
 * (`corp:alice`, group `corp:sales`), so that no issuer can impersonate another; `app` for those that an embedding
 * application has authenticated.
 */
export interface Principal {
  /** Name in policies and audit records. */
  readonly name: string
  /** `anonymous` if no credential was sent, regardless of the name. */
  readonly method: (typeof authenticationMethods)[number] | 'anonymous'
  readonly groups: ReadonlySet<string>
  /** API key id; token `jti` or 16 hex digits of its SHA-256; SHA-256 of the certificate; or empty. */
  readonly credentialId: string
  /** Configured name of the issuer, or of the source of the certificate. */
  readonly issuer?: string
  /** Further claims of a verified token. */
  readonly claims?: Readonly<Record<string, unknown>>
}

/** Not equal to another principal with the same name. */
export const anonymousPrincipal: Principal = Object.freeze({
  name: 'anonymous',
  method: 'anonymous',
  groups: new Set<string>(),
  credentialId: '',
})
