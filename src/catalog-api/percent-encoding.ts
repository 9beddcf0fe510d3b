import { refusal } from './catalog-error.ts'

const extraEncodedCharacters = /[!'()*]/g
const unreserved = /^[A-Za-z0-9\-._~]*$/

/**
 * Decodes a part of a request target once. `label` names it in errors. Throws InvalidInput (400) for what is not UTF-8,
 * and for a NUL character.
 */
export function decodeComponent(text: string, label: string): string {
  if (!text.includes('%')) return text
  let decoded: string
  try {
    decoded = decodeURIComponent(text)
  } catch {
    throw refusal('malformed_target', `${label} is percent-encoded but not valid UTF-8`)
  }
  if (decoded.includes('\0')) throw refusal('invalid_request', `${label} contains a NUL character`)
  return decoded
}

/** Percent-encodes everything but the unreserved characters (RFC 3986, 2.3). */
export function encodeComponent(text: string): string {
  if (unreserved.test(text)) return text
  return encodeURIComponent(text).replace(
    extraEncodedCharacters,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}
