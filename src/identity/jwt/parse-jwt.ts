import { AuthenticationError } from '../authentication-error.ts'
import type { Claims } from './claims.ts'
import { isObject } from '../../lib/index.ts'

const jsonString = /"(?:[^"\\]|\\.)*"/g

const compactForm = /^([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)$/

/**
 * Returns the claims of a signed JSON Web Token (RFC 7515 section 7.1), unverified. They and the header are canonical
 * base64url, valid UTF-8 and without duplicate members, because ambiguous content must not identify a caller. Throws
 * AuthenticationError.
 */
export function parseClaims(token: string): Claims {
  const [, header = '', claims = '', signature = ''] = compactForm.exec(token) ?? []
  if (header === '' || !isCanonical(signature)) throw new AuthenticationError('malformed_token')
  parsePart(header)
  return parsePart(claims)
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

function parsePart(part: string): Claims {
  try {
    const bytes = Buffer.from(part, 'base64url')
    // With `ignoreBOM`, a byte order mark is retained and rejected as invalid JSON.
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
    const value: unknown = JSON.parse(text)
    if (isCanonical(part) && isObject(value) && !hasDuplicateKey(text, value)) return value
  } catch {
    // Reported below.
  }
  throw new AuthenticationError('malformed_token')
}

/** Some bytes have several base64url encodings: the last digit may contain unused bits. */
function isCanonical(part: string): boolean {
  return Buffer.from(part, 'base64url').toString('base64url') === part
}

/**
 * Whether an object at any depth of a JSON text repeats a member, in any spelling: readers differ in which one they use. Of
 * repeated members, the value of the text has only the last.
 */
function hasDuplicateKey(text: string, value: unknown): boolean {
  return countMembers(JSON.stringify(value)) < countMembers(text)
}

function countMembers(json: string): number {
  return json.replaceAll(jsonString, '').split(':').length - 1
}
