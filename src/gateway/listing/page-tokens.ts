import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { type CatalogError, refusal } from '../../catalog-api/catalog-error.ts'

/** Encrypts positions in listings as tokens, which clients can neither read nor create. */
export interface PageTokens {
  /**
   * Encrypts a position as JSON with AES-256-GCM, bound to the scope. Lengths are padded, so that they do not reveal
   * the length of the position. Throws ServiceUnavailable (502) if the token would not fit into a request.
   */
  seal(position: unknown, scope: string): string
  /** Decrypts a position. Throws InvalidInput (400) for a token of another scope or key, or a modified one. */
  open(token: string, scope: string): unknown
  /** Whether a text has the form of these tokens, which no name and no id has. */
  isSealed(token: string): boolean
}

/** No name contains it, so that names and tokens cannot be confused. */
const marker = '/'
const cipherName = 'aes-256-gcm'
const nonceBytes = 12
const tagBytes = 16
/** Lengths are rounded up to this, so that they do not reveal the length of names. */
const paddingBytes = 128
/** Half of the maximum length of a request target. */
const maxTokenLength = 8192
const minSecretBytes = 32

/** Creates tokens with a key derived from the secret, which replicas share; the default is random. */
export function createPageTokens(secret: Uint8Array = randomBytes(minSecretBytes)): PageTokens {
  const key = Buffer.from(hkdfSync('sha256', secret, '', 'catalog-gateway page tokens', 32))
  return {
    isSealed: (token) => token.startsWith(marker),
    seal(position, scope) {
      const nonce = randomBytes(nonceBytes)
      const cipher = createCipheriv(cipherName, key, nonce, { authTagLength: tagBytes })
      cipher.setAAD(Buffer.from(scope))
      const sealed = Buffer.concat([
        nonce,
        cipher.update(padPosition(position)),
        cipher.final(),
        cipher.getAuthTag(),
      ])
      const token = marker + sealed.toString('base64url')
      if (token.length > maxTokenLength) throw tokenTooLongError()
      return token
    },
    open(token, scope) {
      const sealed = Buffer.from(token.slice(marker.length), 'base64url')
      try {
        const nonce = sealed.subarray(0, nonceBytes)
        const cipher = createDecipheriv(cipherName, key, nonce, { authTagLength: tagBytes })
        cipher.setAAD(Buffer.from(scope))
        cipher.setAuthTag(sealed.subarray(-tagBytes))
        const text = cipher.update(sealed.subarray(nonceBytes, -tagBytes), undefined, 'utf8')
        return JSON.parse(text + cipher.final('utf8'))
      } catch (cause) {
        throw refusal(
          'invalid_page_token',
          'invalid page_token for this listing, or its key was replaced; start again without a page_token',
          { cause },
        )
      }
    },
  }
}

/** Reads the secret of page tokens without surrounding whitespace. Throws if it is shorter than 32 bytes. */
export async function readPageTokenSecret(file: string): Promise<Buffer> {
  const secret = Buffer.from((await readFile(file, 'utf8')).trim())
  if (secret.length < minSecretBytes) {
    throw new Error(`the page token key has ${secret.length} bytes; expected at least 32`)
  }
  return secret
}

/** Pads with spaces, which JSON ignores. */
function padPosition(position: unknown): Buffer {
  const text = Buffer.from(JSON.stringify(position))
  const bytes = Buffer.alloc(Math.ceil(text.length / paddingBytes) * paddingBytes, ' ')
  text.copy(bytes)
  return bytes
}

function tokenTooLongError(): CatalogError {
  return refusal('upstream_response_invalid', 'invalid response of the upstream: the page token is too long')
}
