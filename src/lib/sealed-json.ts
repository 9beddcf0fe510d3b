import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'

/** Encrypts values as text that others can neither read nor create. */
export interface JsonSealer {
  /**
   * Encrypts a value as JSON with AES-256-GCM, bound to the scope; the result is base64url. Lengths are padded, so that
   * they do not reveal the length of the value.
   */
  seal(value: unknown, scope: string): string
  /** Decrypts a value. Throws for a text of another scope, purpose or secret, or a modified one. */
  open(text: string, scope: string): unknown
}

const cipherName = 'aes-256-gcm'
const nonceBytes = 12
const tagBytes = 16
const paddingBytes = 128

/** Creates a sealer with a key derived from the secret; a text that is sealed for one purpose opens for no other. */
export function createJsonSealer(secret: Uint8Array, purpose: string): JsonSealer {
  const key = Buffer.from(hkdfSync('sha256', secret, '', purpose, 32))
  return {
    seal(value, scope) {
      const nonce = randomBytes(nonceBytes)
      const cipher = createCipheriv(cipherName, key, nonce, { authTagLength: tagBytes })
      cipher.setAAD(Buffer.from(scope))
      const parts = [nonce, cipher.update(padJson(value)), cipher.final(), cipher.getAuthTag()]
      return Buffer.concat(parts).toString('base64url')
    },
    open(text, scope) {
      const sealed = Buffer.from(text, 'base64url')
      const nonce = sealed.subarray(0, nonceBytes)
      const cipher = createDecipheriv(cipherName, key, nonce, { authTagLength: tagBytes })
      cipher.setAAD(Buffer.from(scope))
      cipher.setAuthTag(sealed.subarray(-tagBytes))
      const json = cipher.update(sealed.subarray(nonceBytes, -tagBytes), undefined, 'utf8')
      return JSON.parse(json + cipher.final('utf8'))
    },
  }
}

/** Pads with spaces, which JSON ignores. */
function padJson(value: unknown): Buffer {
  const text = Buffer.from(JSON.stringify(value))
  const bytes = Buffer.alloc(Math.ceil(text.length / paddingBytes) * paddingBytes, ' ')
  text.copy(bytes)
  return bytes
}
