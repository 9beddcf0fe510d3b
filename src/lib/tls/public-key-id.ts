import { createHash, type KeyObject } from 'node:crypto'

/** Key id: the first 16 hex digits of the SHA-256 of the SPKI (DER). */
export function publicKeyId(key: KeyObject): string {
  const bytes = key.export({ type: 'spki', format: 'der' })
  return createHash('sha256').update(bytes).digest('hex').slice(0, 16)
}
