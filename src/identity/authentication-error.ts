import { CatalogError, optionsFor, refusals, type RefusalReason } from '../catalog-api/catalog-error.ts'

/** What the caller is told about a credential. */
interface Refused {
  readonly message: string
  readonly detail?: string
  /** The error code of the challenge (RFC 6750 section 3.1); none where no bearer token was at fault. */
  readonly error?: 'invalid_request' | 'invalid_token'
}

// One answer for keys and one for tokens, so that no answer tells whether a key exists, or which check
// failed.
const apiKeyRejected: Refused = { message: 'invalid API key' }
const tokenRejected: Refused = {
  message: 'invalid bearer token; expected a signed token of a known issuer with this service as audience',
  error: 'invalid_token',
}

const certificateRejected: Refused = {
  message: 'invalid client certificate',
}

const responses = {
  /** Neither x-api-key nor Authorization was sent, and no certificate that would do. */
  missing_credential: {
    message: 'no credential was sent; expected the header x-api-key, or authorization with a bearer token',
    detail: 'credentials are read from the headers only, never from the body',
  },
  /** Two credentials were sent, and one of them is bad, or they are not bound to each other. */
  conflicting_credentials: {
    message:
      'more than one credential was sent (x-api-key, authorization, client certificate) and they do not agree on ' +
      'the caller; send one of them',
  },
  /** Authorization is not `<scheme> <credentials>`, or holds more or less than one bearer token. */
  malformed_authorization: {
    message: 'malformed authorization header; expected "Bearer" and one token',
    error: 'invalid_request',
  },
  /** Authorization names another scheme than Bearer. */
  unsupported_scheme: {
    message: 'unsupported authorization scheme; expected Bearer and a token',
  },

  /** Not the form of a key, or its check part does not fit: mistyped or cut off. */
  malformed_api_key: {
    message: 'malformed API key in x-api-key; it seems mistyped or truncated',
  },
  unknown_api_key: apiKeyRejected,
  wrong_api_key_secret: apiKeyRejected,
  revoked_api_key: apiKeyRejected,
  /** The key is not valid before a time to come. */
  api_key_not_yet_valid: apiKeyRejected,
  expired_api_key: apiKeyRejected,

  /** Not a JSON Web Token with an issuer, or a claim has the wrong type. */
  malformed_token: tokenRejected,
  token_too_long: tokenRejected,
  wrong_token_type: tokenRejected,
  /** `none`, a symmetric algorithm, or one that the issuer is not configured with. */
  disallowed_algorithm: tokenRejected,
  /** The token demands an extension that nobody here understands (`crit`). */
  unsupported_crit: tokenRejected,
  unknown_issuer: tokenRejected,
  wrong_audience: tokenRejected,
  unknown_kid: tokenRejected,
  /** The issuer publishes the key in a form that cannot verify: too short, private, broken. */
  unusable_key: tokenRejected,
  invalid_signature: tokenRejected,
  missing_expiry: tokenRejected,
  token_not_yet_valid: tokenRejected,
  token_lifetime_too_long: tokenRejected,
  /** The token is bound to a key or a certificate that the caller did not prove to hold (RFC 7800). */
  unproven_binding: tokenRejected,
  /** The authorization server says that the opaque token is not active. */
  inactive_token: tokenRejected,
  /** The subject is missing, or holds control characters. */
  invalid_subject: tokenRejected,
  /** The groups are not strings, hold control characters, or are kept elsewhere by the issuer. */
  invalid_groups: tokenRejected,
  /** Said aloud, because the signature was verified before. */
  expired_token: { ...tokenRejected, message: 'the bearer token has expired' },
  /** The issuer's keys cannot be had: the token is neither good nor bad. */
  jwks_unavailable: {
    message: 'bearer tokens of this issuer cannot be verified: JWKS unavailable; retry later',
  },
  /** The authorization server cannot be asked about an opaque token, or too many wait for it. */
  introspection_unavailable: {
    message: 'opaque bearer tokens cannot be verified: introspection unavailable; retry later',
  },

  /** TLS did not verify the certificate: unknown authority, expired, revoked, not for clients. */
  untrusted_certificate: certificateRejected,
  expired_certificate: certificateRejected,
  /** It holds no name of the configured kind, or several. */
  invalid_certificate_name: certificateRejected,
} satisfies Partial<Record<RefusalReason, Refused>>

/** Why a caller was refused: for log, metric and audit, never in the response. */
export type CredentialRefusal = keyof typeof responses

/**
 * The caller could not be authenticated. 401 with a challenge for each way (RFC 6750 section 3); 400 where the
 * Authorization header cannot be read; 503 where the issuer cannot be asked. Neither message nor
 * headers hold anything that was sent, nor whether a key exists; `reason` and `cause` say precisely what
 * happened, for those inside.
 */
export class AuthenticationError extends CatalogError {
  constructor(reason: CredentialRefusal, cause?: unknown) {
    const { message, detail, error }: Refused = responses[reason]
    const { kind } = refusals[reason]
    super(kind, message, {
      ...(kind !== 'ServiceUnavailable' && { headers: createChallenge(error) }),
      ...optionsFor(reason),
      ...(detail !== undefined && { detail }),
      ...(cause !== undefined && { cause }),
    })
  }
}

/** The challenge of an answer 401: one for each way to prove who calls (RFC 9110 section 11.6.1). */
export const challenge: Readonly<Record<string, string>> = createChallenge(undefined)

function createChallenge(error: Refused['error']): Readonly<Record<string, string>> {
  const bearer = `Bearer realm="catalog-gateway"${error === undefined ? '' : `, error="${error}"`}`
  // There is no registered scheme for keys; this one says where a key goes (RFC 9110 section 11.6.1).
  return { 'www-authenticate': `${bearer}, ApiKey realm="catalog-gateway", header="x-api-key"` }
}
