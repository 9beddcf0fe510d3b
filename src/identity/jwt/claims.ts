import type { Principal } from '../principal.ts'
import { AuthenticationError } from '../authentication-error.ts'
import { isObject } from '../../lib/json/is-object.ts'

const maxNameLength = 2048
// Control characters, line separators and lone surrogates: never part of a name, and misleading in output.
const forbiddenNameCharacter = /[\p{Cc}\p{Cs}\u2028\u2029]/u
const credentialIdPattern = /^[!-~]{1,128}$/
/** End of the year 9999, in seconds. */
const lastSecond = 253_402_300_799

interface TokenLifetime {
  readonly clockSkewSeconds: number
  readonly maxLifetimeSeconds?: number | undefined
}

/** Caller in verified claims, without the prefix of the issuer. */
export interface TokenCaller {
  readonly subject: string
  readonly groups: readonly string[]
}

/** Reads the caller from verified claims; throws AuthenticationError. */
export type ReadCaller = (claims: Claims) => TokenCaller

export type Claims = Readonly<Record<string, unknown>>

export interface ClaimNames {
  readonly subjectClaim: string
  readonly groupsClaim?: string | undefined
}

export function createCallerReader({ subjectClaim, groupsClaim }: ClaimNames): ReadCaller {
  return (claims) => ({ subject: readSubject(claims, subjectClaim), groups: readGroups(claims, groupsClaim) })
}

/** Creates the principal of a caller; `issuer` is its configured name. `digest` is the SHA-256 of the token in hex. */
export function createTokenPrincipal(
  issuer: string,
  caller: TokenCaller,
  claims: Claims,
  digest: string,
): Principal {
  const { jti } = claims
  return {
    name: `${issuer}:${caller.subject}`,
    method: 'token',
    groups: new Set(caller.groups.map((group) => `${issuer}:${group}`)),
    credentialId: typeof jti === 'string' && credentialIdPattern.test(jti) ? jti : digest.slice(0, 16),
    issuer,
    claims,
  }
}

/** Accepts access tokens and generic types only: issuers sign others with the same keys (RFC 8725 section 3.11). */
export function assertTokenType(type: string | undefined): void {
  if (type !== undefined && !/^(application\/)?(at\+)?jwt$/i.test(type)) {
    throw new AuthenticationError('wrong_token_type')
  }
}

/** Refuses a lifetime above that of the issuer, or an end after the year 9999: probably in milliseconds by mistake. */
export function assertLifetime(issuer: TokenLifetime, { iat, exp }: Claims, nowMs: number): void {
  const { maxLifetimeSeconds, clockSkewSeconds } = issuer
  if (typeof exp !== 'number' || exp > lastSecond) throw new AuthenticationError('token_lifetime_too_long')
  if (maxLifetimeSeconds === undefined) return
  if (typeof iat !== 'number' || exp - iat > maxLifetimeSeconds) {
    throw new AuthenticationError('token_lifetime_too_long')
  }
  // A start in the future would extend the lifetime.
  if (iat > nowMs / 1000 + clockSkewSeconds) throw new AuthenticationError('token_not_yet_valid')
}

/** Returns the bound certificate thumbprint (RFC 7800). Refuses other bindings, which cannot be verified. */
export function getBoundCertificateThumbprint({ cnf }: Claims): string | undefined {
  if (cnf === undefined) return undefined
  const thumbprint = isObject(cnf) && Object.keys(cnf).length === 1 ? cnf['x5t#S256'] : undefined
  // Bound to a key of the client (DPoP) or in an unknown way: the sender may have stolen the token.
  if (typeof thumbprint !== 'string') throw new AuthenticationError('unproven_binding')
  return thumbprint
}

function readSubject(claims: Claims, claim: string): string {
  const subject = findClaim(claims, claim)
  if (!isValidPrincipalName(subject)) throw new AuthenticationError('invalid_subject')
  return subject
}

/** A claim that cannot be read is refused, because a rule may deny one of its groups. */
function readGroups(claims: Claims, claim: string | undefined): readonly string[] {
  if (claim === undefined) return []
  const groups = findClaim(claims, claim)
  if (groups === undefined) {
    // The issuer stores the groups elsewhere because there are too many (OpenID Connect Core, section 5.6.2).
    const elsewhere = findClaim(claims, '_claim_names')
    if (isObject(elsewhere) && Object.hasOwn(elsewhere, claim))
      throw new AuthenticationError('invalid_groups')
    return []
  }
  const list: unknown[] = Array.isArray(groups) ? groups : [groups]
  if (!list.every(isValidPrincipalName)) throw new AuthenticationError('invalid_groups')
  return list
}

/** Prefers the exact name (`https://corp.example/groups`), otherwise follows the dots (`realm.roles`). */
function findClaim(claims: Claims, path: string): unknown {
  if (Object.hasOwn(claims, path)) return claims[path]
  let value: unknown = claims
  for (const part of path.split('.')) {
    if (!isObject(value) || !Object.hasOwn(value, part)) return undefined
    value = value[part]
  }
  return value
}

export function isValidPrincipalName(value: unknown): value is string {
  return (
    typeof value === 'string' &&
    value !== '' &&
    value.length <= maxNameLength &&
    !forbiddenNameCharacter.test(value)
  )
}
