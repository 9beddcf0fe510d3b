import { generateKeyPairSync, type KeyObject } from 'node:crypto'

const count = 8
const keys: KeyObject[] = []
let taken = 0

/**
 * A private RSA key of 2,048 bits. A worker generates eight, in a tenth of a second each, and reuses them: eight calls in
 * a row return different ones.
 */
export function takeRsaKey(): KeyObject {
  const index = taken++ % count
  return (keys[index] ??= generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey)
}
