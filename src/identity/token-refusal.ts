import { errors } from 'jose'
import { AuthenticationRefused, type RefusalReason } from './refusal.ts'

const reasons = new Map<string, RefusalReason>([
  [errors.JWTInvalid.code, 'malformed_token'],
  [errors.JWSInvalid.code, 'malformed_token'],
  [errors.JOSEAlgNotAllowed.code, 'wrong_algorithm'],
  [errors.JOSENotSupported.code, 'unknown_extension'],
  [errors.JWKSNoMatchingKey.code, 'unknown_kid'],
  [errors.JWSSignatureVerificationFailed.code, 'bad_signature'],
  [errors.JWTExpired.code, 'expired_token'],
])

const claimReasons = new Map<string, RefusalReason>([
  ['iss', 'wrong_issuer'],
  ['aud', 'wrong_audience'],
  ['exp', 'no_expiry'],
  ['nbf', 'not_yet_valid'],
])

/** The refusal that an error of verifying a token comes to; a refusal stays itself. */
export function refusalOf(error: unknown): AuthenticationRefused {
  if (error instanceof AuthenticationRefused) return error
  // The library's errors carry the claims of the token, which do not belong into a log.
  return new AuthenticationRefused(reasonOf(error), error instanceof errors.JOSEError ? error.message : error)
}

function reasonOf(error: unknown): RefusalReason {
  if (error instanceof errors.JWTClaimValidationFailed) {
    return claimReasons.get(error.claim) ?? 'malformed_token'
  }
  // What is left comes from reading the key.
  return (error instanceof errors.JOSEError ? reasons.get(error.code) : undefined) ?? 'unusable_key'
}
