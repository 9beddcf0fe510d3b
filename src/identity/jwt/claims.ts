import type { Principal } from '../principal.ts'
import { AuthenticationError } from '../authentication-error.ts'
import { isObject } from './parse-jwt.ts'

const maxNameLength = 2048
// Control characters, line separators and lone surrogates: none of them is a name, all of them confuse a
// reader.
const forbiddenNameCharacter = /[\p{Cc}\p{Cs}\u2028\u2029]/u
const credentialIdPattern = /^[!-~]{1,128}$/
/** The end of the year 9999, in seconds. */
const lastSecond = 253_402_300_799

/** How long tokens of an issuer may live. */
interface TokenLifetime {
  readonly clockSkewSeconds: number
  readonly maxLifetimeSeconds?: number | undefined
}

/** Whom verified claims name, as their issuer calls them. */
export interface TokenCaller {
  readonly subject: string
  readonly groups: readonly string[]
}

/** Reads the caller from verified claims; throws AuthenticationRefused. */
export type ReadCaller = (claims: Claims) => TokenCaller

/** What a token says. */
export type Claims = Readonly<Record<string, unknown>>

/** Which claims name the caller. */
export interface ClaimNames {
  readonly subjectClaim: string
  readonly groupsClaim?: string | undefined
}

/** Reads the caller from the configured claims. */
export function createCallerReader({ subjectClaim, groupsClaim }: ClaimNames): ReadCaller {
  return (claims) => ({ subject: readSubject(claims, subjectClaim), groups: readGroups(claims, groupsClaim) })
}

/**
 * The principal of a caller whom an issuer of that name vouches for. `digest` is the SHA-256 of the token in hex.
 */
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

/**
 * Throws AuthenticationRefused if a token says that it is something else than an access token or a plain one:
 * issuers sign other things with the same keys, such as logout tokens (RFC 8725 section 3.11).
 */
export function assertTokenType(type: string | undefined): void {
  if (type !== undefined && !/^(application\/)?(at\+)?jwt$/i.test(type)) {
    throw new AuthenticationError('wrong_token_type')
  }
}

/**
 * Throws AuthenticationRefused if the token is valid for longer than its issuer may make them. No token ends beyond
 * the year 9999: such a time was meant in milliseconds, or is no number that can be waited for.
 */
export function assertLifetime(issuer: TokenLifetime, { iat, exp }: Claims, nowMs: number): void {
  const { maxLifetimeSeconds, clockSkewSeconds } = issuer
  if (typeof exp !== 'number' || exp > lastSecond) throw new AuthenticationError('token_lifetime_too_long')
  if (maxLifetimeSeconds === undefined) return
  if (typeof iat !== 'number' || exp - iat > maxLifetimeSeconds) {
    throw new AuthenticationError('token_lifetime_too_long')
  }
  // A start in the future would stretch the life by as much.
  if (iat > nowMs / 1000 + clockSkewSeconds) throw new AuthenticationError('token_not_yet_valid')
}

/** What a token is bound to besides being known (RFC 7800), in the one way that can be checked here. */
export function boundCertificateThumbprint({ cnf }: Claims): string | undefined {
  if (cnf === undefined) return undefined
  const thumbprint = isObject(cnf) && Object.keys(cnf).length === 1 ? cnf['x5t#S256'] : undefined
  // Bound to a key of the client (DPoP) or in an unknown way: whoever sends it here may have stolen it.
  if (typeof thumbprint !== 'string') throw new AuthenticationError('unproven_binding')
  return thumbprint
}

function readSubject(claims: Claims, claim: string): string {
  const subject = findClaim(claims, claim)
  if (!isValidPrincipalName(subject)) throw new AuthenticationError('invalid_subject')
  return subject
}

/**
 * No claim, no groups. A claim that is there but cannot be read refuses: a rule may deny one of its groups.
 */
function readGroups(claims: Claims, claim: string | undefined): readonly string[] {
  if (claim === undefined) return []
  const groups = findClaim(claims, claim)
  if (groups === undefined) {
    // The issuer keeps the groups elsewhere, because they are too many (OpenID Connect Core, section 5.6.2).
    const elsewhere = findClaim(claims, '_claim_names')
    if (isObject(elsewhere) && Object.hasOwn(elsewhere, claim))
      throw new AuthenticationError('invalid_groups')
    return []
  }
  const list: unknown[] = Array.isArray(groups) ? groups : [groups]
  if (!list.every(isValidPrincipalName)) throw new AuthenticationError('invalid_groups')
  return list
}

/**
 * The claim of that very name (`https://corp.example/groups`), else what the dots lead to (`realm.roles`).
 */
function findClaim(claims: Claims, path: string): unknown {
  if (Object.hasOwn(claims, path)) return claims[path]
  let value: unknown = claims
  for (const part of path.split('.')) {
    if (!isObject(value) || !Object.hasOwn(value, part)) return undefined
    value = value[part]
  }
  return value
}

/** Whether a value may be the name of a principal or a group. */
export function isValidPrincipalName(value: unknown): value is string {
  return (
    typeof value === 'string' &&
    value !== '' &&
    value.length <= maxNameLength &&
    !forbiddenNameCharacter.test(value)
  )
}
