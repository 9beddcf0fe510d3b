import { createHash, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import type { JWK } from 'jose'
import { claimsWith, encode, macWith, publicJwk, signed } from './forged-tokens.ts'
import { takeRsaKey } from './rsa-keys.ts'

/** An issuer that publishes a weak or misused key under a `kid`, and a token signed with it. */
export type KeyAttack = readonly [
  name: string,
  make: () => { readonly published: JWK; readonly token: string },
]

export const keyAttacks: readonly KeyAttack[] = [
  ['RSA of 1024 bits', () => publish(generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey)],
  [
    'RSA with the exponent 3',
    () => publish(generateKeyPairSync('rsa', { modulusLength: 2048, publicExponent: 3 }).privateKey),
  ],
  ['RSA with the exponent 1, which signs for everybody', signedByNobody],
  ['for encryption (use)', () => publish(takeRsaKey(), { use: 'enc' })],
  ['for encryption (key_ops)', () => publish(takeRsaKey(), { use: undefined, key_ops: ['encrypt'] })],
  ['for signing alone (key_ops)', () => publish(takeRsaKey(), { use: undefined, key_ops: ['sign'] })],
  ['for another alg', () => publish(takeRsaKey(), { alg: 'PS256' })],
  ['for encryption (alg)', () => publish(takeRsaKey(), { alg: 'RSA-OAEP' })],
  ['private', () => publishPrivate(takeRsaKey())],
  [
    'EC of another curve',
    () => publish(generateKeyPairSync('ec', { namedCurve: 'P-384' }).privateKey, {}, 'ES256'),
  ],
  [
    'EC of the curve of coins',
    () => publish(generateKeyPairSync('ec', { namedCurve: 'secp256k1' }).privateKey, {}, 'ES256'),
  ],
  [
    'EC with a point that is not on the curve',
    () =>
      publish(
        generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey,
        { y: encode(Buffer.alloc(32, 1)) },
        'ES256',
      ),
  ],
  [
    'EC that says that it is of another curve',
    () => publish(generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey, { crv: 'P-384' }, 'ES256'),
  ],
  [
    'symmetric',
    () => ({
      published: { kty: 'oct', k: encode('secret'), kid: 'key' },
      token: macWith('secret', 'HS256', 'key'),
    }),
  ],
]

function publish(key: KeyObject, changes: Partial<Record<keyof JWK, unknown>> = {}, alg = 'RS256') {
  const published = publicJwk(key, 'key', changes)
  return { published, token: signed({ key, alg, kid: 'key' }) }
}

function publishPrivate(key: KeyObject) {
  const published: JWK = { ...(key.export({ format: 'jwk' }) as JWK), kid: 'key' }
  return { published, token: signed({ key, alg: 'RS256', kid: 'key' }) }
}

/** With e = 1, the signature is the padded hash itself: no private key is needed. */
function signedByNobody() {
  const jwk = createPublicKey(takeRsaKey()).export({ format: 'jwk' })
  const published = { ...(jwk as JWK), e: 'AQ', kid: 'key' }
  const input = `${encode({ alg: 'RS256', kid: 'key' })}.${encode(claimsWith())}`
  const hashed = createDigestInfo(input)
  const padding = Buffer.alloc(256 - 3 - hashed.length, 0xff)
  const block = Buffer.concat([Buffer.from([0, 1]), padding, Buffer.from([0]), hashed])
  return { published, token: `${input}.${encode(block)}` }
}

/** The DER of a SHA-256 digest as wrapped by PKCS #1. */
function createDigestInfo(input: string): Buffer {
  const prefix = Buffer.from('3031300d060960864801650304020105000420', 'hex')
  return Buffer.concat([prefix, createHash('sha256').update(input).digest()])
}
