import { createHmac, createPublicKey, createSign, KeyObject } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import type { Authenticator } from '../../src/identity/authenticate.ts'
import { bearer, openAuthenticator, reason } from './authenticating.ts'
import {
  forgeToken,
  goodClaims,
  makeSigningKey,
  signToken,
  startIssuer,
  startServer,
  type CountingServer,
  type SigningKey,
  type TestIssuer,
} from './token-issuer.ts'

let issuer: TestIssuer
let attacker: CountingServer
let attackersKey: SigningKey
let authenticator: Authenticator

beforeAll(async () => {
  issuer = await startIssuer()
  attackersKey = await makeSigningKey('first')
  attacker = await startServer((_request, response) => {
    response.end(JSON.stringify({ keys: [attackersKey.publicKey] }))
  })
})
afterAll(() => Promise.all([issuer.stop(), attacker.stop()]))
beforeEach(async () => {
  authenticator = await openAuthenticator({ issuers: [issuer.configuration] })
})

const payload = (changes: Record<string, unknown> = {}): string => JSON.stringify(goodClaims(changes))

test('the token that the attacks are made from is good', async () => {
  expect((await bearer(authenticator, await signToken(issuer.key))).name).toBe('corp:alice')
})

test('alg none, with and without a signature', async () => {
  for (const alg of ['none', 'None', 'NONE', '']) {
    for (const signature of ['', 'AAAA']) {
      const token = forgeToken({ alg, kid: 'first' }, payload(), () => signature)
      expect(await reason(bearer(authenticator, token))).toMatch(/^wrong_algorithm|malformed_token$/)
    }
  }
})

test('HS256 signed with the public key of the issuer', async () => {
  const { publicKey } = issuer.key
  const pem = createPublicKey({ key: { ...publicKey }, format: 'jwk' }).export({
    type: 'spki',
    format: 'pem',
  })
  for (const secret of [pem, JSON.stringify(publicKey), Buffer.from(publicKey.n ?? '', 'base64url')]) {
    const token = forgeToken({ alg: 'HS256', kid: 'first' }, payload(), (input) =>
      createHmac('sha256', secret).update(input).digest('base64url'),
    )
    expect(await reason(bearer(authenticator, token))).toBe('wrong_algorithm')
  }
})

test('an algorithm that is asymmetric, but not on the list of the issuer', async () => {
  const token = await signToken(await makeSigningKey('first', 'RS512'))
  expect(await reason(bearer(authenticator, token))).toBe('wrong_algorithm')
})

test('crit names an extension that nobody knows', async () => {
  const token = forgeToken({ alg: 'RS256', kid: 'first', crit: ['exp'], exp: 1 }, payload(), () => 'AAAA')
  expect(await reason(bearer(authenticator, token))).toBe('unknown_extension')
  const empty = forgeToken({ alg: 'RS256', kid: 'first', crit: [] }, payload(), () => 'AAAA')
  expect(await reason(bearer(authenticator, empty))).toBe('malformed_token')
})

describe('a key that the token brings along is neither fetched nor used', () => {
  test.each([
    ['jku', () => ({ jku: attacker.url })],
    ['x5u', () => ({ x5u: attacker.url })],
    ['jwk', () => ({ jwk: attackersKey.publicKey })],
    ['x5c', () => ({ x5c: ['MIIB'] })],
    ['a kid that is a URL', () => ({ kid: attacker.url })],
    ['a kid that is a path', () => ({ kid: '../../../../dev/null' })],
  ])('%s', async (_name, header) => {
    const token = await signToken(attackersKey, {}, header())
    expect(await reason(bearer(authenticator, token))).toMatch(/^bad_signature|unknown_kid$/)
    expect(attacker.requests()).toBe(0)
  })
})

test('no exp, or one that is no number', async () => {
  const token = await signToken(issuer.key, { exp: undefined })
  expect(await reason(bearer(authenticator, token))).toBe('no_expiry')
  const text = await signToken(issuer.key, { exp: '9999999999' })
  expect(await reason(bearer(authenticator, text))).toBe('no_expiry')
})

test('a signature cut off, changed, or of another token', async () => {
  const [header, claims, signature = ''] = (await signToken(issuer.key)).split('.')
  const other = (await signToken(issuer.key, { sub: 'bob' })).split('.')
  for (const forged of ['', signature.slice(1), signature.toLowerCase(), other[2] ?? '']) {
    const token = `${header}.${claims}.${forged}`
    expect(await reason(bearer(authenticator, token))).toMatch(/^bad_signature|malformed_token$/)
  }
})

test('two keys with one kid, both of the issuer, and a third of somebody else', async () => {
  const [twin, duplicated] = [await makeSigningKey('first'), await startIssuer()]
  onTestFinished(() => duplicated.stop())
  duplicated.published = [duplicated.key.publicKey, twin.publicKey]
  const trusting = await openAuthenticator({ issuers: [duplicated.configuration] })
  for (const key of [duplicated.key, twin]) {
    expect((await bearer(trusting, await signToken(key))).name).toBe('corp:alice')
  }
  expect(await reason(bearer(trusting, await signToken(attackersKey)))).toBe('bad_signature')
})

test('a storm of random kids causes one fetch', async () => {
  const before = issuer.requests()
  const reasons = await Promise.all(
    Array.from({ length: 200 }, async (_, index) => {
      const token = forgeToken({ alg: 'RS256', kid: `random-${index}` }, payload(), () => 'AAAA')
      return await reason(bearer(authenticator, token))
    }),
  )
  expect(new Set(reasons)).toEqual(new Set(['unknown_kid']))
  for (let index = 0; index < 50; index++) {
    const token = forgeToken({ alg: 'RS256', kid: `later-${index}` }, payload(), () => 'AAAA')
    expect(await reason(bearer(authenticator, token))).toBe('unknown_kid')
  }
  expect(issuer.requests() - before).toBe(1)
})

test('a huge token', async () => {
  const token = await signToken(issuer.key, { padding: 'x'.repeat(16 * 1024) })
  expect(await reason(bearer(authenticator, token))).toBe('too_long')
})

test('deeply nested claims', async () => {
  const depth = 5000
  const token = forgeToken({ alg: 'RS256' }, `${'['.repeat(depth)}${']'.repeat(depth)}`, () => 'AAAA')
  expect(await reason(bearer(authenticator, token))).toBe('malformed_token')
})

describe('a token with two issuers', () => {
  let other: TestIssuer
  let both: Authenticator
  beforeAll(async () => {
    other = await startIssuer({ name: 'other', issuer: 'https://other.example' })
  })
  afterAll(() => other.stop())
  beforeEach(async () => {
    both = await openAuthenticator({ issuers: [issuer.configuration, other.configuration] })
  })

  test('as a list', async () => {
    const token = await signToken(issuer.key, { iss: ['https://corp.example', 'https://other.example'] })
    expect(await reason(bearer(both, token))).toBe('wrong_issuer')
  })

  test('as a claim that stands twice', async () => {
    const twice = payload().replace(/}$/, ',"iss":"https://other.example"}')
    const token = forgeToken({ alg: 'RS256', kid: 'first' }, twice, (input) =>
      createSign('sha256').update(input).sign(KeyObject.from(issuer.key.privateKey), 'base64url'),
    )
    expect(await reason(bearer(both, token))).toBe('bad_signature')
  })

  test('signed by one in the name of the other', async () => {
    const token = await signToken(issuer.key, { iss: 'https://other.example' })
    expect(await reason(bearer(both, token))).toBe('bad_signature')
  })

  test('almost the name of one', async () => {
    for (const iss of [
      'https://corp.example/',
      'https://CORP.example',
      ' https://corp.example',
      '',
      undefined,
    ]) {
      expect(await reason(bearer(both, await signToken(issuer.key, { iss })))).toBe('wrong_issuer')
    }
  })
})
