/**
 * The authenticated caller. Names of API keys never contain `:`, and what a token says is prefixed with the
 * name of its issuer (`corp:alice`, group `corp:sales`), so that no issuer can name somebody else's
 * principal.
 */
export interface Principal {
  /** The name that policies and audit records use. */
  readonly name: string
  /** How the caller proved who they are. */
  readonly method: 'api-key' | 'token'
  readonly groups: ReadonlySet<string>
  /**
   * The id of the API key, or the id of the token: its `jti`, or else the first 16 hex digits of its
   * SHA-256.
   */
  readonly credentialId: string
  /** The configured name of the issuer of the token. */
  readonly issuer?: string
}
