import { InterfaceError, type ErrorName } from '../interface/errors.ts'

interface Refusal {
  readonly kind: ErrorName
  readonly message: string
  readonly detail?: string
  /** The error code of the challenge (RFC 6750 section 3.1); none where no bearer token was at fault. */
  readonly error?: 'invalid_request' | 'invalid_token'
}

// One answer for keys and one for tokens, so that no answer tells whether a key exists, or which check
// failed.
const keyRefused: Refusal = { kind: 'Unauthenticated', message: 'the API key was not accepted' }
const tokenRefused: Refusal = {
  kind: 'Unauthenticated',
  message:
    'the bearer token was not accepted; expected a signed token of a known issuer, made for this service',
  error: 'invalid_token',
}

const certificateRefused: Refusal = {
  kind: 'Unauthenticated',
  message: 'the client certificate was not accepted',
}

const refusals = {
  /** Neither x-api-key nor Authorization was sent, and no certificate that would do. */
  missing: {
    kind: 'Unauthenticated',
    message: 'no credential was sent; expected the header x-api-key, or authorization with a bearer token',
    detail: 'credentials are read from the headers only, never from the body',
  },
  /** Two credentials were sent, and one of them is bad, or they are not bound to each other. */
  disagree: {
    kind: 'Unauthenticated',
    message:
      'more than one credential was sent (x-api-key, authorization, client certificate) and they disagree about ' +
      'who calls; expected one of them',
  },
  /** Authorization is not `<scheme> <credentials>`, or holds more or less than one bearer token. */
  malformed_header: {
    kind: 'InvalidInput',
    message: 'the authorization header could not be read; expected the word Bearer and one token',
    error: 'invalid_request',
  },
  /** Authorization names another scheme than Bearer. */
  other_scheme: {
    kind: 'Unauthenticated',
    message: 'authorization was sent with another scheme; expected Bearer and a token',
  },

  /** Not the form of a key, or its check part does not fit: mistyped or cut off. */
  malformed_key: {
    kind: 'Unauthenticated',
    message: 'the value of x-api-key is not a whole API key; it seems mistyped or cut off',
  },
  unknown_key: keyRefused,
  wrong_secret: keyRefused,
  revoked: keyRefused,
  /** The key is not valid before a time to come. */
  not_yet: keyRefused,
  expired: keyRefused,

  /** Not a JSON Web Token with an issuer, or a claim has the wrong type. */
  malformed_token: tokenRefused,
  too_long: tokenRefused,
  wrong_type: tokenRefused,
  /** `none`, a symmetric algorithm, or one that the issuer is not configured with. */
  wrong_algorithm: tokenRefused,
  /** The token demands an extension that nobody here understands (`crit`). */
  unknown_extension: tokenRefused,
  wrong_issuer: tokenRefused,
  wrong_audience: tokenRefused,
  unknown_kid: tokenRefused,
  /** The issuer publishes the key in a form that cannot verify: too short, private, broken. */
  unusable_key: tokenRefused,
  bad_signature: tokenRefused,
  no_expiry: tokenRefused,
  not_yet_valid: tokenRefused,
  lives_too_long: tokenRefused,
  /** The token is bound to a key or a certificate that the caller did not prove to hold (RFC 7800). */
  bound_elsewhere: tokenRefused,
  /** The authorization server says that the opaque token is not active. */
  inactive_token: tokenRefused,
  /** The subject is missing, or holds control characters. */
  bad_subject: tokenRefused,
  /** The groups are not strings, hold control characters, or are kept elsewhere by the issuer. */
  bad_groups: tokenRefused,
  /** Said aloud, because the signature was verified before. */
  expired_token: { ...tokenRefused, message: 'the bearer token has expired; expected a fresh one' },
  /** The issuer's keys cannot be had: the token is neither good nor bad. */
  keys_unavailable: {
    kind: 'ServiceUnavailable',
    message: 'bearer tokens of this issuer cannot be verified at the moment; its keys are not available',
  },
  /** The authorization server cannot be asked about an opaque token, or too many wait for it. */
  introspection_unavailable: {
    kind: 'ServiceUnavailable',
    message: 'opaque bearer tokens cannot be verified at the moment; their issuer does not answer',
  },

  /** TLS did not verify the certificate: unknown authority, expired, revoked, not for clients. */
  untrusted_certificate: certificateRefused,
  expired_certificate: certificateRefused,
  /** It holds no name of the configured kind, or several. */
  bad_certificate_name: certificateRefused,
} satisfies Record<string, Refusal>

/** Why a caller was refused: for log, metric and audit, never for the answer. */
export type RefusalReason = keyof typeof refusals

/**
 * The caller could not be authenticated. 401 with a challenge for each way (RFC 6750 section 3); 400 where the
 * Authorization header cannot be read; 503 where the issuer cannot be asked. Neither message nor
 * headers hold anything that was sent, nor whether a key exists; `reason` and `cause` say precisely what
 * happened, for those inside.
 */
export class AuthenticationRefused extends InterfaceError {
  readonly reason: RefusalReason

  constructor(reason: RefusalReason, cause?: unknown) {
    const refusal: Refusal = refusals[reason]
    super(refusal.kind, refusal.message, {
      headers: headersOf(refusal),
      ...(refusal.detail === undefined ? {} : { detail: refusal.detail }),
      ...(cause === undefined ? {} : { cause }),
    })
    this.reason = reason
  }
}

/** The challenge of an answer 401: one for each way to prove who calls (RFC 9110 section 11.6.1). */
export const challenge: Readonly<Record<string, string>> = challengeWith(undefined)

function headersOf({ kind, error }: Refusal): Readonly<Record<string, string>> {
  return kind === 'ServiceUnavailable' ? { 'retry-after': '5' } : challengeWith(error)
}

function challengeWith(error: Refusal['error']): Readonly<Record<string, string>> {
  const bearer = `Bearer realm="catalog-gateway"${error === undefined ? '' : `, error="${error}"`}`
  // There is no registered scheme for keys; this one says where a key goes (RFC 9110 section 11.6.1).
  return { 'www-authenticate': `${bearer}, ApiKey realm="catalog-gateway", header="x-api-key"` }
}
