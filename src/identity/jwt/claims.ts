import type { TokenIssuer } from '../../config/index.ts'
import type { Principal } from '../principal.ts'
import type { ReportEvent } from '../runtime.ts'
import { AuthenticationError } from '../authentication-error.ts'
import { isObject, suggestSimilar } from '../../lib/index.ts'

const maxNameLength = 2048
// Control characters, line separators and lone surrogates: never part of a name, and misleading in output.
const forbiddenNameCharacter = /[\p{Cc}\p{Cs}\u2028\u2029]/u
const credentialIdPattern = /^[!-~]{1,128}$/

/** Allowed between an issuer and this gateway. */
export const clockSkewSeconds = 30

/** Caller in verified claims, without the prefix of the issuer. */
export interface TokenCaller {
  readonly subject: string
  readonly groups: readonly string[]
}

/** Reads the caller from verified claims; throws AuthenticationError. */
export type ReadCaller = (claims: Claims) => TokenCaller

export type Claims = Readonly<Record<string, unknown>>

/** Creates a reader of callers. Reports each token without the groups claim, with the name of it and a similar one. */
export function createCallerReader(
  { name, subjectClaim, groupsClaim }: Pick<TokenIssuer, 'name' | 'subjectClaim' | 'groupsClaim'>,
  report: ReportEvent,
): ReadCaller {
  return (claims) => {
    const subject = readSubject(claims, subjectClaim)
    if (groupsClaim === undefined) return { subject, groups: [] }
    const groups = readGroups(claims, groupsClaim)
    if (groups === undefined) {
      const cause = `no claim "${groupsClaim}"${suggestSimilar(groupsClaim, Object.keys(claims))}`
      report({ source: name, outcome: 'missing-groups', cause })
    }
    return { subject, groups: groups ?? [] }
  }
}

export interface VerifiedToken {
  readonly principal: Principal
  /** SHA-256 of the bound certificate in base64url (RFC 8705 section 3.1); undefined for an unbound token. */
  readonly certificateThumbprint: string | undefined
}

/** `issuer` is the configured name of the issuer, `digest` the SHA-256 of the token in hex. Throws AuthenticationError. */
export function createVerifiedToken(
  issuer: string,
  { subject, groups }: TokenCaller,
  claims: Claims,
  digest: string,
): VerifiedToken {
  const { jti } = claims
  const principal: Principal = {
    name: `${issuer}:${subject}`,
    method: 'token',
    groups: new Set(groups.map((group) => `${issuer}:${group}`)),
    credentialId: typeof jti === 'string' && credentialIdPattern.test(jti) ? jti : digest.slice(0, 16),
    issuer,
    claims,
  }
  return { principal, certificateThumbprint: getBoundCertificateThumbprint(claims) }
}

/** Returns the bound certificate thumbprint (RFC 7800). Refuses other bindings, which cannot be verified. */
function getBoundCertificateThumbprint({ cnf }: Claims): string | undefined {
  if (cnf === undefined) return undefined
  const thumbprint = isObject(cnf) && Object.keys(cnf).length === 1 ? cnf['x5t#S256'] : undefined
  // Bound to a key of the client (DPoP) or in an unknown way: the sender may have stolen the token.
  if (typeof thumbprint !== 'string') throw new AuthenticationError('unproven_binding')
  return thumbprint
}

function readSubject(claims: Claims, claim: string): string {
  const [subject, ...others] = findClaims(claims, claim.split('.'))
  if (others.length > 0 || !isValidPrincipalName(subject)) throw new AuthenticationError('invalid_subject')
  return subject
}

/**
 * Undefined if there is no such claim. A claim that cannot be read, or in more than one way, is refused: a rule may deny
 * one of its groups.
 */
function readGroups(claims: Claims, claim: string): readonly string[] | undefined {
  const [groups, ...others] = findClaims(claims, claim.split('.'))
  if (others.length > 0 || (groups === undefined && isStoredElsewhere(claims, claim))) {
    throw new AuthenticationError('invalid_groups')
  }
  if (groups === undefined) return undefined
  const list = toList(groups, claim)
  if (!list.every(isValidPrincipalName)) throw new AuthenticationError('invalid_groups')
  return list
}

/** Scopes may be one string with spaces (RFC 8693 section 4.2, RFC 9068); in names of groups, spaces are valid. */
function toList(groups: unknown, claim: string): readonly unknown[] {
  if (Array.isArray(groups)) return groups
  const isScope = ['scope', 'scp'].includes(claim)
  return isScope && typeof groups === 'string' ? groups.split(' ').filter((scope) => scope !== '') : [groups]
}

/** Issuers store groups elsewhere if there are too many (OpenID Connect Core, section 5.6.2). */
function isStoredElsewhere({ _claim_names: elsewhere }: Claims, claim: string): boolean {
  return isObject(elsewhere) && getPrefixes(claim.split('.')).some((name) => Object.hasOwn(elsewhere, name))
}

/**
 * Returns the values of all members that the path may refer to: each dot either selects a nested member or belongs to a name
 * (`resource_access.my.client.roles`, `https://corp.example/groups`). Visits each member at most once, since only one split
 * of the path leads to it.
 */
function findClaims(value: unknown, path: readonly string[]): readonly unknown[] {
  if (path.length === 0) return [value]
  return getPrefixes(path).flatMap((name, index) =>
    isObject(value) && Object.hasOwn(value, name) ? findClaims(value[name], path.slice(index + 1)) : [],
  )
}

/** `a`, `a.b`, `a.b.c` */
function getPrefixes(parts: readonly string[]): readonly string[] {
  return parts.map((_, index) => parts.slice(0, index + 1).join('.'))
}

export function isValidPrincipalName(value: unknown): value is string {
  return (
    typeof value === 'string' &&
    value !== '' &&
    value.length <= maxNameLength &&
    !forbiddenNameCharacter.test(value)
  )
}
