import { createHash, createHmac, randomInt } from 'node:crypto'

const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const idLength = 12
// 62 ** 43 is just over 2 ** 256.
const secretLength = 43
const checkLength = 6
const pattern = new RegExp(
  `^cgk_([0-9A-Za-z]{${idLength}})_([0-9A-Za-z]{${secretLength}})_([0-9A-Za-z]{${checkLength}})$`,
)

/** Parts of an API key: the id is public, the secret proves possession. */
export interface ApiKeyParts {
  readonly id: string
  readonly secret: string
}

/** Generates a new key: 12 and 43 random base62 digits (71 and 256 bits). */
export function generateApiKey(): ApiKeyParts {
  return { id: randomDigits(idLength), secret: randomDigits(secretLength) }
}

/** Formats a key as sent by its holder: `cgk_<id>_<secret>_<check>`. */
export function formatApiKey({ id, secret }: ApiKeyParts): string {
  return `cgk_${id}_${secret}_${computeChecksum(id, secret)}`
}

/** Parses a key; undefined if the text is not one, or was mistyped or truncated. */
export function parseApiKey(text: string): ApiKeyParts | undefined {
  const [, id, secret, check] = pattern.exec(text) ?? []
  if (id === undefined || secret === undefined || check !== computeChecksum(id, secret)) return undefined
  return { id, secret }
}

/** Throws if the pepper is too short to make a leaked store useless. */
export function assertPepper(pepper: Uint8Array): void {
  if (pepper.length < 32) throw new Error('the pepper of the API keys must have at least 32 bytes')
}

/** Returns 16 hex digits that identify a pepper without revealing it. */
export function identifyPepper(pepper: Uint8Array): string {
  return createHmac('sha256', pepper).update('catalog-gateway pepper').digest('hex').slice(0, 16)
}

/** HMAC-SHA-256 with the pepper. The secret is random, so a slow hash is unnecessary. */
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
