import { InterfaceError, optionsFor, refusals, type RefusalReason } from '../interface/errors.ts'

/** What the caller is told about a credential. */
interface Refused {
  readonly message: string
  readonly detail?: string
  /** The error code of the challenge (RFC 6750 section 3.1); none where no bearer token was at fault. */
  readonly error?: 'invalid_request' | 'invalid_token'
}

// One answer for keys and one for tokens, so that no answer tells whether a key exists, or which check
// failed.
const keyRefused: Refused = { message: 'the API key was not accepted' }
const tokenRefused: Refused = {
  message:
    'the bearer token was not accepted; expected a signed token of a known issuer, made for this service',
  error: 'invalid_token',
}

const certificateRefused: Refused = {
  message: 'the client certificate was not accepted',
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
      'more than one credential was sent (x-api-key, authorization, client certificate) and they disagree about ' +
      'who calls; expected one of them',
  },
  /** Authorization is not `<scheme> <credentials>`, or holds more or less than one bearer token. */
  malformed_authorization: {
    message: 'the authorization header could not be read; expected the word Bearer and one token',
    error: 'invalid_request',
  },
  /** Authorization names another scheme than Bearer. */
  unsupported_scheme: {
    message: 'authorization was sent with another scheme; expected Bearer and a token',
  },

  /** Not the form of a key, or its check part does not fit: mistyped or cut off. */
  malformed_api_key: {
    message: 'the value of x-api-key is not a whole API key; it seems mistyped or cut off',
  },
  unknown_api_key: keyRefused,
  wrong_api_key_secret: keyRefused,
  revoked_api_key: keyRefused,
  /** The key is not valid before a time to come. */
  api_key_not_yet_valid: keyRefused,
  expired_api_key: keyRefused,

  /** Not a JSON Web Token with an issuer, or a claim has the wrong type. */
  malformed_token: tokenRefused,
  token_too_long: tokenRefused,
  wrong_token_type: tokenRefused,
  /** `none`, a symmetric algorithm, or one that the issuer is not configured with. */
  disallowed_algorithm: tokenRefused,
  /** The token demands an extension that nobody here understands (`crit`). */
  unsupported_crit: tokenRefused,
  unknown_issuer: tokenRefused,
  wrong_audience: tokenRefused,
  unknown_kid: tokenRefused,
  /** The issuer publishes the key in a form that cannot verify: too short, private, broken. */
  unusable_key: tokenRefused,
  invalid_signature: tokenRefused,
  missing_expiry: tokenRefused,
  token_not_yet_valid: tokenRefused,
  token_lifetime_too_long: tokenRefused,
  /** The token is bound to a key or a certificate that the caller did not prove to hold (RFC 7800). */
  unproven_binding: tokenRefused,
  /** The authorization server says that the opaque token is not active. */
  inactive_token: tokenRefused,
  /** The subject is missing, or holds control characters. */
  invalid_subject: tokenRefused,
  /** The groups are not strings, hold control characters, or are kept elsewhere by the issuer. */
  invalid_groups: tokenRefused,
  /** Said aloud, because the signature was verified before. */
  expired_token: { ...tokenRefused, message: 'the bearer token has expired; expected a fresh one' },
  /** The issuer's keys cannot be had: the token is neither good nor bad. */
  jwks_unavailable: {
    message: 'bearer tokens of this issuer cannot be verified at the moment; its keys are not available',
  },
  /** The authorization server cannot be asked about an opaque token, or too many wait for it. */
  introspection_unavailable: {
    message: 'opaque bearer tokens cannot be verified at the moment; their issuer does not answer',
  },

  /** TLS did not verify the certificate: unknown authority, expired, revoked, not for clients. */
  untrusted_certificate: certificateRefused,
  expired_certificate: certificateRefused,
  /** It holds no name of the configured kind, or several. */
  invalid_certificate_name: certificateRefused,
} satisfies Partial<Record<RefusalReason, Refused>>

/** Why a caller was refused: for log, metric and audit, never in the response. */
export type CredentialRefusal = keyof typeof responses

/**
 * The caller could not be authenticated. 401 with a challenge for each way (RFC 6750 section 3); 400 where the
 * Authorization header cannot be read; 503 where the issuer cannot be asked. Neither message nor
 * headers hold anything that was sent, nor whether a key exists; `reason` and `cause` say precisely what
 * happened, for those inside.
 */
export class AuthenticationRefused extends InterfaceError {
  constructor(reason: CredentialRefusal, cause?: unknown) {
    const { message, detail, error }: Refused = responses[reason]
    const { kind } = refusals[reason]
    super(kind, message, {
      ...(kind !== 'ServiceUnavailable' && { headers: challengeWith(error) }),
      ...optionsFor(reason),
      ...(detail !== undefined && { detail }),
      ...(cause !== undefined && { cause }),
    })
  }
}

/** The challenge of an answer 401: one for each way to prove who calls (RFC 9110 section 11.6.1). */
export const challenge: Readonly<Record<string, string>> = challengeWith(undefined)

function challengeWith(error: Refused['error']): Readonly<Record<string, string>> {
  const bearer = `Bearer realm="catalog-gateway"${error === undefined ? '' : `, error="${error}"`}`
  // There is no registered scheme for keys; this one says where a key goes (RFC 9110 section 11.6.1).
  return { 'www-authenticate': `${bearer}, ApiKey realm="catalog-gateway", header="x-api-key"` }
}
