/** The ways in which a caller can prove who they are. */
export const authenticationMethods = ['api-key', 'token', 'certificate'] as const

/**
 * The caller. Names of API keys never contain `:`, and what a token or a certificate says is
 * prefixed with the configured name of who vouches for it (`corp:alice`, group `corp:sales`), so that nobody
 * can name somebody else's principal.
 */
export interface Principal {
  /** The name that policies and audit records use. */
  readonly name: string
  /** How the caller proved who they are; `anonymous` where no credential was sent, whatever the name is. */
  readonly method: (typeof authenticationMethods)[number] | 'anonymous'
  readonly groups: ReadonlySet<string>
  /**
   * The id of the API key; the id of the token (its `jti`, or else the first 16 hex digits of its SHA-256);
   * the SHA-256 fingerprint of the certificate in hex. Empty where there is none.
   */
  readonly credentialId: string
  /** The configured name of who vouches for the caller: the issuer of a token, the source of a certificate. */
  readonly issuer?: string
  /** What a verified token says of the caller besides name and groups, for the conditions of policies. */
  readonly claims?: Readonly<Record<string, unknown>>
}

/** Whoever sends no credential, where such callers are let in. Another principal of that name is somebody else. */
export const anonymousPrincipal: Principal = Object.freeze({
  name: 'anonymous',
  method: 'anonymous',
  groups: new Set<string>(),
  credentialId: '',
})
