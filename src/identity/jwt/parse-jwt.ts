import { AuthenticationError } from '../authentication-error.ts'
import { hasDuplicateKey } from '../../lib/json/has-duplicate-key.ts'

const compactForm = /^([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)$/

/** What a token says of itself before anything of it is verified. */
export interface ParsedToken {
  readonly header: Readonly<Record<string, unknown>>
  readonly claims: Readonly<Record<string, unknown>>
}

/**
 * Reads a signed JSON Web Token (RFC 7515 section 7.1), more strictly than its signature needs: one spelling of
 * base64url, valid UTF-8, no member twice. What two readers could read differently is nobody's identity.
 * Throws AuthenticationRefused.
 */
export function parseToken(token: string): ParsedToken {
  const [, header = '', claims = '', signature = ''] = compactForm.exec(token) ?? []
  if (header === '' || !isCanonical(signature)) throw new AuthenticationError('malformed_token')
  return { header: parsePart(header), claims: parsePart(claims) }
}

/**
 * Whether a token begins as a JSON Web Token does, signed or encrypted, good or bad. Such a token is never taken
 * for an opaque one.
 */
export function pollsLikeJwt(token: string): boolean {
  const start = token.split('.', 1)[0] ?? ''
  if (start === token) return false
  try {
    return isObject(JSON.parse(Buffer.from(start, 'base64url').toString()))
  } catch {
    return false
  }
}

function parsePart(part: string): Readonly<Record<string, unknown>> {
  try {
    const bytes = Buffer.from(part, 'base64url')
    // With `ignoreBOM` a byte order mark stays, and is no JSON.
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
    const value: unknown = JSON.parse(text)
    if (isCanonical(part) && isObject(value) && !hasDuplicateKey(text)) return value
  } catch {
    // Told below.
  }
  throw new AuthenticationError('malformed_token')
}

/** Base64url has several spellings of some bytes: the last digit may hold bits that mean nothing. */
function isCanonical(part: string): boolean {
  return Buffer.from(part, 'base64url').toString('base64url') === part
}

/** An object of JSON: no list, and not null. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
