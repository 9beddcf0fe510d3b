import type { JWTPayload } from 'jose'
import type { TokenIssuer } from './issuers.ts'
import type { Principal } from './principal.ts'
import { AuthenticationRefused } from './refusal.ts'

const maxNameLength = 2048
// Control characters, line separators and lone surrogates: none of them is a name, all of them confuse a
// reader.
const unfitForName = /[\p{Cc}\p{Cs}\u2028\u2029]/u
const fitForId = /^[!-~]{1,128}$/

/**
 * The principal that the verified claims of a token name. `digest` is the SHA-256 of the token in hex.
 * Throws AuthenticationRefused.
 */
export function readPrincipal(issuer: TokenIssuer, claims: JWTPayload, digest: string): Principal {
  const { jti } = claims
  return {
    name: `${issuer.name}:${readSubject(issuer, claims)}`,
    method: 'token',
    groups: new Set(readGroups(issuer, claims).map((group) => `${issuer.name}:${group}`)),
    credentialId: typeof jti === 'string' && fitForId.test(jti) ? jti : digest.slice(0, 16),
    issuer: issuer.name,
  }
}

/**
 * Throws AuthenticationRefused if a token says that it is something else than an access token or a plain one:
 * issuers sign other things with the same keys, such as logout tokens (RFC 8725 section 3.11).
 */
export function checkType(type: string | undefined): void {
  if (type !== undefined && !/^(application\/)?(at\+)?jwt$/i.test(type)) {
    throw new AuthenticationRefused('wrong_type')
  }
}

/** Throws AuthenticationRefused if the token is valid for longer than its issuer may make them. */
export function checkLifetime(issuer: TokenIssuer, claims: JWTPayload, nowMs: number): void {
  const { maxLifetimeSeconds, clockSkewSeconds } = issuer
  if (maxLifetimeSeconds === undefined) return
  const { iat, exp } = claims
  if (typeof iat !== 'number' || typeof exp !== 'number' || exp - iat > maxLifetimeSeconds) {
    throw new AuthenticationRefused('lives_too_long')
  }
  // A start in the future would stretch the life by as much.
  if (iat > nowMs / 1000 + clockSkewSeconds) throw new AuthenticationRefused('not_yet_valid')
}

function readSubject(issuer: TokenIssuer, claims: JWTPayload): string {
  const subject = claimAt(claims, issuer.subjectClaim)
  if (!isName(subject)) throw new AuthenticationRefused('bad_subject')
  return subject
}

/**
 * No claim, no groups. A claim that is there but cannot be read refuses: a rule may deny one of its groups.
 */
function readGroups(issuer: TokenIssuer, claims: JWTPayload): readonly string[] {
  if (issuer.groupsClaim === undefined) return []
  const groups = claimAt(claims, issuer.groupsClaim)
  if (groups === undefined) {
    // The issuer keeps the groups elsewhere, because they are too many (OpenID Connect Core, section 5.6.2).
    const elsewhere = claimAt(claims, '_claim_names')
    if (isObject(elsewhere) && Object.hasOwn(elsewhere, issuer.groupsClaim)) {
      throw new AuthenticationRefused('bad_groups')
    }
    return []
  }
  const list: unknown[] = Array.isArray(groups) ? groups : [groups]
  if (!list.every(isName)) throw new AuthenticationRefused('bad_groups')
  return list
}

/**
 * The claim of that very name (`https://corp.example/groups`), else what the dots lead to (`realm.roles`).
 */
function claimAt(claims: JWTPayload, path: string): unknown {
  if (Object.hasOwn(claims, path)) return claims[path]
  let value: unknown = claims
  for (const part of path.split('.')) {
    if (!isObject(value) || !Object.hasOwn(value, part)) return undefined
    value = value[part]
  }
  return value
}

function isName(value: unknown): value is string {
  return (
    typeof value === 'string' && value !== '' && value.length <= maxNameLength && !unfitForName.test(value)
  )
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
