import { generateKeyPairSync } from 'node:crypto'
import { expect, it, onTestFinished } from 'vitest'
import type { IdentityEvent } from '../../../src/identity/runtime.ts'
import { authenticateBearer, captureReason, openAuthenticator } from '../test-authenticator.ts'
import { takeRsaKey } from './rsa-keys.ts'
import { makeSigningKey, signToken, startIssuer } from './token-issuer.ts'
import { eventually } from '../../support/eventually.ts'

const rsa = await makeSigningKey('first')
const weak = generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey

/** An issuer that publishes these entries beside a good key, with the events of a gateway that trusts it. */
async function trustIssuer(entries: readonly unknown[], refresh = 600) {
  const issuer = await startIssuer()
  onTestFinished(() => issuer.stop())
  Object.assign(issuer, { published: [...entries, issuer.key.publicKey] })
  const events: IdentityEvent[] = []
  const authenticator = await openAuthenticator({
    issuers: [issuer.configuration],
    jwksTiming: { refresh },
    report: (event) => events.push(event),
  })
  const unusable = () => events.filter(({ outcome }) => outcome === 'unusable-keys')
  return { issuer, authenticator, unusable }
}

const { n, e } = rsa.publicKey

it.each<[string, unknown, string]>([
  ['null', null, 'keys[0] is no object with a kty'],
  ['text', 'RS256', 'keys[0] is no object with a kty'],
  ['without kty', { kid: 'x', n, e }, 'keys[0] (kid "x") is no object with a kty'],
  ['with a kty that is a number', { kty: 1 }, 'keys[0] is no object with a kty'],
  [
    'of an unknown kty',
    { kty: 'NEW', kid: 'x' },
    'keys[0] (kid "x") cannot be read as a public key of kty "NEW"',
  ],
  [
    'of an unknown curve',
    { kty: 'EC', crv: 'P-999', x: 'AA', y: 'AA' },
    'keys[0] cannot be read as a public key of kty "EC"',
  ],
  ['without a modulus', { kty: 'RSA', e: 'AQAB' }, 'keys[0] cannot be read as a public key of kty "RSA"'],
  [
    'without an exponent',
    { kty: 'RSA', n },
    'keys[0] has an RSA exponent that is even, missing or below 65537',
  ],
  ['symmetric', { kty: 'oct', k: 'c2VjcmV0' }, 'keys[0] cannot be read as a public key of kty "oct"'],
  ['private', takeRsaKey().export({ format: 'jwk' }), 'keys[0] contains a private key'],
  ['with a kid that is a number', { kty: 'RSA', n, e, kid: 7 }, 'keys[0] has a kid that is not a string'],
  [
    'too weak, with the kid of the good key',
    { ...weak.export({ format: 'jwk' }), kid: 'first' },
    'keys[0] (kid "first") is RSA of 1024 bits; expected at least 2048',
  ],
])(
  'a JWKS entry that is %s leaves the others in use, and is reported once',
  async (_what, entry, reported) => {
    const { issuer, authenticator, unusable } = await trustIssuer([entry], 0.01)
    expect((await authenticateBearer(authenticator, await signToken(issuer.key))).name).toBe('corp:alice')
    const before = issuer.requests()
    await eventually(() => expect(issuer.requests()).toBeGreaterThan(before + 2))
    expect(unusable()).toEqual([{ source: 'corp', outcome: 'unusable-keys', cause: reported }])
    expect(authenticator.status().issuers[0]).toMatchObject({ keyCount: 1, isUsable: true })
  },
)

it.each<[string, unknown]>([
  ['a key for encryption', { kty: 'RSA', use: 'enc', alg: 'RSA-OAEP', kid: 'enc', n, e }],
  ['another key with the same kid', { ...(await makeSigningKey('first')).publicKey }],
  ['a key with unknown members', { ...(await makeSigningKey('other')).publicKey, x5c: 1, 'x-note': {} }],
])('%s is not reported', async (_what, entry) => {
  const { issuer, authenticator, unusable } = await trustIssuer([entry])
  expect((await authenticateBearer(authenticator, await signToken(issuer.key))).name).toBe('corp:alice')
  expect(unusable()).toEqual([])
})

it('names at most five unusable entries', async () => {
  const { unusable } = await trustIssuer(Array.from({ length: 8 }, () => null))
  expect(unusable()[0]?.cause).toMatch(/^(keys\[\d\] is no object with a kty; ){5}3 more$/)
})

it('a JWKS in which no entry can be read does not replace the last one', async () => {
  const { issuer, authenticator } = await trustIssuer([], 0.01)
  Object.assign(issuer, { published: [null, { n: 'AA' }] })
  await eventually(() => expect(authenticator.status().issuers[0]?.consecutiveFailures).toBeGreaterThan(0))
  expect((await authenticateBearer(authenticator, await signToken(issuer.key))).name).toBe('corp:alice')
  expect(
    await captureReason(authenticateBearer(authenticator, await signToken(await makeSigningKey('new')))),
  ).toBe('jwks_unavailable')
})
