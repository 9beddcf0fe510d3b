import { CatalogError, type RefusalReason, refusals } from '../catalog-api/index.ts'

interface RefusalResponse {
  readonly message: string
  readonly detail?: string
  /** Error code of the challenge (RFC 6750 section 3.1); absent if the bearer token was not the cause. */
  readonly error?: 'invalid_request' | 'invalid_token'
}

// One response for all keys and one for all tokens, so that it reveals neither whether a key exists nor which check
// failed.
const apiKeyRejected: RefusalResponse = { message: 'invalid API key' }
const tokenRejected: RefusalResponse = {
  message: 'invalid bearer token; expected a signed token of a known issuer with this service as audience',
  detail: 'an API key is sent in the header x-api-key, without "Bearer"',
  error: 'invalid_token',
}

const certificateRejected: RefusalResponse = { message: 'invalid client certificate' }

const responses = {
  /** Neither x-api-key nor Authorization was sent, and no usable certificate. */
  missing_credential: {
    message: 'no credential was sent; expected the header x-api-key, or authorization with a bearer token',
    detail: 'credentials are read from the headers only, never from the body',
  },
  /** x-api-key or Authorization without a value, as of a client whose variable is not set. */
  empty_credential: {
    message: 'the header x-api-key or authorization is empty; send a credential in it, or omit the header',
    error: 'invalid_request',
  },
  /** Several credentials were sent, and one of them is invalid, or they are not bound to each other. */
  conflicting_credentials: {
    message:
      'more than one credential was sent (x-api-key, authorization, client certificate) and they do not agree on ' +
      'the caller; send one of them',
  },
  /** Authorization is not `<scheme> <credentials>`, or does not contain exactly one bearer token. */
  malformed_authorization: {
    message: 'malformed authorization header; expected "Bearer" and one token',
    error: 'invalid_request',
  },
  unsupported_scheme: {
    message: 'unsupported authorization scheme; expected Bearer and a token',
  },

  /** Not a key, or its check part does not match: mistyped or truncated. */
  malformed_api_key: {
    message: 'malformed API key in x-api-key; it seems mistyped or truncated',
  },
  unknown_api_key: apiKeyRejected,
  wrong_api_key_secret: apiKeyRejected,
  revoked_api_key: apiKeyRejected,
  api_key_not_yet_valid: apiKeyRejected,
  expired_api_key: apiKeyRejected,

  /** Not a JSON Web Token with an issuer, or a claim has the wrong type. */
  malformed_token: tokenRejected,
  token_too_long: tokenRejected,
  wrong_token_type: tokenRejected,
  /** `none`, a symmetric algorithm, or one that is not configured for the issuer. */
  disallowed_algorithm: tokenRejected,
  unsupported_crit: tokenRejected,
  unknown_issuer: tokenRejected,
  wrong_audience: tokenRejected,
  unknown_kid: tokenRejected,
  /** The published key cannot be used for verification: too short, private, or invalid. */
  unusable_key: tokenRejected,
  invalid_signature: tokenRejected,
  missing_expiry: tokenRejected,
  token_not_yet_valid: tokenRejected,
  token_lifetime_too_long: tokenRejected,
  /** The token is bound to a key or a certificate, and the caller did not prove its possession (RFC 7800). */
  unproven_binding: tokenRejected,
  inactive_token: tokenRejected,
  /** The subject is missing, or contains control characters. */
  invalid_subject: tokenRejected,
  /** The groups are not strings, contain control characters, or are stored elsewhere by the issuer. */
  invalid_groups: tokenRejected,
  /** May be disclosed, because the signature was verified before. */
  expired_token: { message: 'the bearer token has expired', error: 'invalid_token' },
  /** The JWKS of the issuer is unavailable: the token is neither valid nor invalid. */
  jwks_unavailable: {
    message: 'bearer tokens of this issuer cannot be verified: JWKS unavailable; retry later',
  },
  /** The authorization server cannot be queried about an opaque token, or too many requests wait for it. */
  introspection_unavailable: {
    message: 'opaque bearer tokens cannot be verified: introspection unavailable; retry later',
  },

  /** TLS did not verify the certificate: unknown authority, expired, revoked, or not for clients. */
  untrusted_certificate: certificateRejected,
  /** An issuer is neither among the trusted authorities nor shown by the runtime: its expiry cannot be checked. */
  unknown_certificate_issuer: certificateRejected,
  /** The certificate was verified on an earlier connection, and may be revoked. */
  resumed_tls_session: certificateRejected,
  expired_certificate: certificateRejected,
  /** It contains no name of the configured kind, or several. */
  invalid_certificate_name: certificateRejected,

  /** The application that embeds the gateway names no principal for the request. */
  application_refused: { message: 'the application has not authenticated the caller' },
  /** Its authentication threw, or returned something else than a principal. */
  application_failed: { message: 'the authentication of the application failed; retry later' },
} satisfies Partial<Record<RefusalReason, RefusalResponse>>

/** Reason of a refusal: for log, metrics and audit, never in the response. */
export type CredentialRefusal = keyof typeof responses

/**
 * 401 with a challenge for each method (RFC 6750 section 3); 400 for a malformed Authorization header; 503 if the
 * issuer is unavailable. Message and headers contain no part of the credentials and do not reveal whether a key exists.
 * `reason` and `cause` are for operators.
 */
export class AuthenticationError extends CatalogError {
  constructor(reason: CredentialRefusal, cause?: unknown) {
    const { message, detail, error }: RefusalResponse = responses[reason]
    const challenges = reason === 'application_refused' ? applicationChallenge : createChallenge(error)
    const { kind } = refusals[reason]
    super(kind, message, {
      ...(kind !== 'ServiceUnavailable' && { headers: challenges }),
      reason,
      ...(detail !== undefined && { detail }),
      ...(cause !== undefined && { cause }),
    })
  }
}

/** Challenges of a 401 response: one for each authentication method (RFC 9110 section 11.6.1). */
export const challenge: Readonly<Record<string, string>> = createChallenge(undefined)

/** There is no registered scheme for what an application does; a 401 response must have a challenge. */
const applicationChallenge = { 'www-authenticate': 'Application realm="catalog-gateway"' }

function createChallenge(error: RefusalResponse['error']): Readonly<Record<string, string>> {
  const bearer = `Bearer realm="catalog-gateway"${error === undefined ? '' : `, error="${error}"`}`
  // There is no registered scheme for API keys; this one names their header (RFC 9110 section 11.6.1).
  return { 'www-authenticate': `${bearer}, ApiKey realm="catalog-gateway", header="x-api-key"` }
}
