import { createPrivateKey, type JsonWebKeyInput, type KeyObject } from 'node:crypto'
import { readFileSync } from 'node:fs'

const keys = readFileSync(new URL('rsa-keys.jsonl', import.meta.url), 'utf8')
  .trim()
  .split('\n')
let taken = 0

/**
 * A private RSA key of 2,048 bits that is used by nothing but tests: to generate one takes a tenth of a second. Eight calls
 * in a row return different ones.
 */
export function takeRsaKey(): KeyObject {
  const key = JSON.parse(keys[taken++ % keys.length] ?? '') as JsonWebKeyInput['key']
  return createPrivateKey({ key, format: 'jwk' })
}
