import { AuthenticationError } from '../authentication-error.ts'
import { isObject } from '../../lib/index.ts'

const jsonTokens = /"(?:[^"\\]|\\.)*"|[{}[\],:]/g

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

/**
 * Whether an object at any depth of a JSON text repeats a member: readers differ in which one they use. Names are
 * compared after unescaping, so `"s\u0075b"` repeats `"sub"`. The text must be valid JSON.
 */
function hasDuplicateKey(text: string): boolean {
  // Names seen in each open object; undefined for an open array.
  const open: (Set<string> | undefined)[] = []
  let last = ''
  for (const [token] of text.matchAll(jsonTokens)) {
    if (token === '{') open.push(new Set())
    else if (token === '[') open.push(undefined)
    else if (token === '}' || token === ']') open.pop()
    else if (token === ':' && isDuplicate(open.at(-1), last)) return true
    last = token
  }
  return false
}

function isDuplicate(names: Set<string> | undefined, written: string): boolean {
  const name = String(JSON.parse(written))
  if (names?.has(name) === true) return true
  names?.add(name)
  return false
}
