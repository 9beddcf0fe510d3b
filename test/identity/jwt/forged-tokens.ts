import { createHmac, createPublicKey, generateKeyPairSync, sign, type KeyObject } from 'node:crypto'
import type { JWK } from 'jose'
import { takeRsaKey } from './rsa-keys.ts'
import { goodClaims } from './token-issuer.ts'

export interface IssuerKey {
  readonly kid: string
  readonly alg: string
  readonly key: KeyObject
  readonly published: JWK
}

/** Capabilities of an attack: the public keys of the issuer, and its signatures. */
export interface AttackTools {
  readonly rsa: IssuerKey
  readonly ec: IssuerKey
  readonly ed: IssuerKey
  readonly own: KeyObject
}

/** An attack on token parsing: its name, the expected refusal, and the token. */
export type JoseAttack = readonly [name: string, reason: RegExp, forge: (tools: AttackTools) => string]

export function makeIssuerKey(alg: 'RS256' | 'ES256' | 'EdDSA', kid: string): IssuerKey {
  const { privateKey: key } = makePair(alg)
  return { kid, alg, key, published: publicJwk(key, kid) }
}

function makePair(alg: string) {
  if (alg === 'RS256') return { privateKey: takeRsaKey() }
  if (alg === 'ES256') return generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return generateKeyPairSync('ed25519')
}

export function publicJwk(key: KeyObject, kid: string, more: object = {}): JWK {
  return { ...(createPublicKey(key).export({ format: 'jwk' }) as JWK), kid, use: 'sig', ...more }
}

export const encode = (part: string | Buffer | object): string =>
  (typeof part === 'string' || Buffer.isBuffer(part)
    ? Buffer.from(part)
    : Buffer.from(JSON.stringify(part))
  ).toString('base64url')

/** Claims of a valid token with overrides; undefined omits a claim. */
export const claimsWith = (changes: Record<string, unknown> = {}): string =>
  JSON.stringify(goodClaims(changes))

/** Creates a token signed by this key, with any content. */
export function signed(
  { key, alg, kid }: Pick<IssuerKey, 'key' | 'alg' | 'kid'>,
  claims: string | Buffer = claimsWith(),
  header: string | Record<string, unknown> = {},
): string {
  const head = typeof header === 'string' ? header : JSON.stringify({ alg, kid, ...header })
  const input = `${encode(head)}.${encode(claims)}`
  return `${input}.${signatureOf(alg, key, input).toString('base64url')}`
}

function signatureOf(alg: string, key: KeyObject, input: string): Buffer {
  const data = Buffer.from(input)
  return alg === 'EdDSA' ? sign(null, data, key) : sign('sha256', data, { key, dsaEncoding: 'ieee-p1363' })
}

export function tampered(
  token: string,
  change: (parts: readonly [string, string, string]) => readonly string[],
): string {
  const [header = '', claims = '', signature = ''] = token.split('.')
  return change([header, claims, signature]).join('.')
}

export const unsigned = (alg: unknown, signature = ''): string =>
  `${encode({ alg, kid: 'rsa' })}.${encode(claimsWith())}.${signature}`

export function macWith(secret: string | Buffer, alg = 'HS256', keyId = 'rsa'): string {
  const input = `${encode({ alg, kid: keyId })}.${encode(claimsWith())}`
  return `${input}.${createHmac(`sha${alg.slice(2)}`, secret)
    .update(input)
    .digest('base64url')}`
}

export function publicText(key: KeyObject, type: 'spki' | 'pkcs1', format: 'pem' | 'der'): string | Buffer {
  const publicKey = createPublicKey(key)
  return format === 'pem' ? publicKey.export({ type, format }) : publicKey.export({ type, format })
}

/** Flips unused bits of the last digit: the decoded bytes are unchanged. */
export function respellPart(part: string): string {
  const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  const last = digits.indexOf(part.at(-1) ?? '')
  const changed = part.slice(0, -1) + digits.charAt(last ^ 1)
  if (!Buffer.from(changed, 'base64url').equals(Buffer.from(part, 'base64url')))
    throw new Error('other bytes')
  return changed
}

/** Returns a header whose length leaves unused bits in its last digit. */
export function padded({ alg, kid }: IssuerKey): string {
  const header = JSON.stringify({ alg, kid })
  return header + ' '.repeat((3 - (header.length % 3)) % 3 === 0 ? 1 : 0)
}

/** Creates a token with an ECDSA signature in DER, as in other protocols. */
export function derSigned({ key, kid, alg }: IssuerKey): string {
  const input = `${encode({ alg, kid })}.${encode(claimsWith())}`
  return `${input}.${encode(sign('sha256', Buffer.from(input), { key, dsaEncoding: 'der' }))}`
}
