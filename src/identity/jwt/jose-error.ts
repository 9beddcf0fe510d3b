import { errors } from 'jose'
import { AuthenticationError, type CredentialRefusal } from '../authentication-error.ts'

const reasonByCode = new Map<string, CredentialRefusal>([
  [errors.JWTInvalid.code, 'malformed_token'],
  [errors.JWSInvalid.code, 'malformed_token'],
  [errors.JOSEAlgNotAllowed.code, 'disallowed_algorithm'],
  [errors.JOSENotSupported.code, 'unsupported_crit'],
  [errors.JWKSNoMatchingKey.code, 'unknown_kid'],
  [errors.JWSSignatureVerificationFailed.code, 'invalid_signature'],
  [errors.JWTExpired.code, 'expired_token'],
])

const reasonByClaim = new Map<string, CredentialRefusal>([
  ['iss', 'unknown_issuer'],
  ['aud', 'wrong_audience'],
  ['exp', 'missing_expiry'],
  ['nbf', 'token_not_yet_valid'],
])

/** Converts an error of token verification to a refusal; returns a refusal unchanged. */
export function toAuthenticationError(error: unknown): AuthenticationError {
  if (error instanceof AuthenticationError) return error
  // Errors of the library contain the claims of the token, which must not be logged.
  return new AuthenticationError(
    getRefusalReason(error),
    error instanceof errors.JOSEError ? error.message : error,
  )
}

function getRefusalReason(error: unknown): CredentialRefusal {
  if (error instanceof errors.JWTClaimValidationFailed) {
    return reasonByClaim.get(error.claim) ?? 'malformed_token'
  }
  // All other errors come from parsing the key.
  return (error instanceof errors.JOSEError ? reasonByCode.get(error.code) : undefined) ?? 'unusable_key'
}
