import { createHash, createHmac, randomInt } from 'node:crypto'

const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const idLength = 12
// 62 ** 43 is just over 2 ** 256.
const secretLength = 43
const checkLength = 6
const pattern = new RegExp(
  `^cgk_([0-9A-Za-z]{${idLength}})_([0-9A-Za-z]{${secretLength}})_([0-9A-Za-z]{${checkLength}})$`,
)

/** The parts of an API key: the id names it openly, the secret proves that the caller holds it. */
export interface ApiKeyParts {
  readonly id: string
  readonly secret: string
}

/** Makes the parts of a new key: 12 and 43 random base62 digits (71 and 256 bits). */
export function generateApiKey(): ApiKeyParts {
  return { id: randomDigits(idLength), secret: randomDigits(secretLength) }
}

/** The text of a key as its holder sends it: `cgk_<id>_<secret>_<check>`. */
export function formatApiKey({ id, secret }: ApiKeyParts): string {
  return `cgk_${id}_${secret}_${computeChecksum(id, secret)}`
}

/** The parts of a key, or undefined if the text is none, or was mistyped or cut off. */
export function parseApiKey(text: string): ApiKeyParts | undefined {
  const [, id, secret, check] = pattern.exec(text) ?? []
  if (id === undefined || secret === undefined || check !== computeChecksum(id, secret)) return undefined
  return { id, secret }
}

/** Throws if the pepper is too short to keep a leaked store useless. */
export function assertPepper(pepper: Uint8Array): void {
  if (pepper.length < 32) throw new Error('the pepper of the API keys must have at least 32 bytes')
}

/**
 * What is kept of a secret: HMAC-SHA-256 under the pepper. The secret is random, so nothing slower is
 * needed.
 */
export function hashSecret(pepper: Uint8Array, secret: string): Buffer {
  return createHmac('sha256', pepper).update(secret).digest()
}

function computeChecksum(id: string, secret: string): string {
  let rest = createHash('sha256').update(`cgk_${id}_${secret}`).digest().readUIntBE(0, 6)
  let check = ''
  for (let index = 0; index < checkLength; index++) {
    check += digits.charAt(rest % digits.length)
    rest = Math.floor(rest / digits.length)
  }
  return check
}

function randomDigits(length: number): string {
  return Array.from({ length }, () => digits.charAt(randomInt(digits.length))).join('')
}
