import { AuthenticationError } from '../authentication-error.ts'
import { hasDuplicateKey } from '../../lib/json/has-duplicate-key.ts'
import { isObject } from '../../lib/json/is-object.ts'

const compactForm = /^([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)$/

/** Unverified content of a token. */
export interface ParsedToken {
  readonly header: Readonly<Record<string, unknown>>
  readonly claims: Readonly<Record<string, unknown>>
}

/**
 * Parses a signed JSON Web Token (RFC 7515 section 7.1) strictly: canonical base64url, valid UTF-8, no duplicate
 * members, because ambiguous content must not identify a caller. Throws AuthenticationError.
 */
export function parseToken(token: string): ParsedToken {
  const [, header = '', claims = '', signature = ''] = compactForm.exec(token) ?? []
  if (header === '' || !isCanonical(signature)) throw new AuthenticationError('malformed_token')
  return { header: parsePart(header), claims: parsePart(claims) }
}

/** Whether a token starts like a JSON Web Token, signed or encrypted, valid or not; it is never treated as opaque. */
export function hasJwtForm(token: string): boolean {
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
    // With `ignoreBOM`, a byte order mark is retained and rejected as invalid JSON.
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
    const value: unknown = JSON.parse(text)
    if (isCanonical(part) && isObject(value) && !hasDuplicateKey(text)) return value
  } catch {
    // Reported below.
  }
  throw new AuthenticationError('malformed_token')
}

/** Some bytes have several base64url encodings: the last digit may contain unused bits. */
function isCanonical(part: string): boolean {
  return Buffer.from(part, 'base64url').toString('base64url') === part
}
