import { createSign } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, it } from 'vitest'
import type { Authenticator } from '../../../src/identity/authenticate.ts'
import { authenticateBearer, openAuthenticator, captureReason } from '../test-authenticator.ts'
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

it('the unmodified token of the attacks is valid', async () => {
  expect((await authenticateBearer(authenticator, await signToken(issuer.key))).name).toBe('corp:alice')
})

describe('neither fetches nor uses a key contained in the token', () => {
  it.each([
    ['jku', () => ({ jku: attacker.url })],
    ['x5u', () => ({ x5u: attacker.url })],
    ['jwk', () => ({ jwk: attackersKey.publicKey })],
    ['x5c', () => ({ x5c: ['MIIB'] })],
    ['a kid that is a URL', () => ({ kid: attacker.url })],
    ['a kid that is a path', () => ({ kid: '../../../../dev/null' })],
  ])('refuses a token with %s without a request', async (_name, header) => {
    const token = await signToken(attackersKey, {}, header())
    expect(await captureReason(authenticateBearer(authenticator, token))).toMatch(
      /^invalid_signature|unknown_kid$/,
    )
    expect(attacker.requests()).toBe(0)
  })
})

it('distinguishes two keys of the issuer with one kid from a key of another issuer', async () => {
  const [twin, duplicated] = [await makeSigningKey('first'), await startIssuer()]
  onTestFinished(() => duplicated.stop())
  duplicated.published = [duplicated.key.publicKey, twin.publicKey]
  const trusting = await openAuthenticator({ issuers: [duplicated.configuration] })
  for (const key of [duplicated.key, twin]) {
    expect((await authenticateBearer(trusting, await signToken(key))).name).toBe('corp:alice')
  }
  expect(await captureReason(authenticateBearer(trusting, await signToken(attackersKey)))).toBe(
    'invalid_signature',
  )
})

it('many random kids cause one fetch', async () => {
  const before = issuer.requests()
  const reasons = await Promise.all(
    Array.from({ length: 200 }, async (_, index) => {
      const token = forgeToken({ alg: 'RS256', kid: `random-${index}` }, payload(), () => 'AAAA')
      return await captureReason(authenticateBearer(authenticator, token))
    }),
  )
  expect(new Set(reasons)).toEqual(new Set(['unknown_kid']))
  for (let index = 0; index < 50; index++) {
    const token = forgeToken({ alg: 'RS256', kid: `later-${index}` }, payload(), () => 'AAAA')
    expect(await captureReason(authenticateBearer(authenticator, token))).toBe('unknown_kid')
  }
  expect(issuer.requests() - before).toBe(1)
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

  it('as a list', async () => {
    const token = await signToken(issuer.key, { iss: ['https://corp.example', 'https://other.example'] })
    expect(await captureReason(authenticateBearer(both, token))).toBe('unknown_issuer')
  })

  it('as a duplicate claim', async () => {
    const twice = payload().replace(/}$/, ',"iss":"https://other.example"}')
    const token = forgeToken({ alg: 'RS256', kid: 'first' }, twice, (input) =>
      createSign('sha256').update(input).sign(issuer.key.privateKey, 'base64url'),
    )
    expect(await captureReason(authenticateBearer(both, token))).toBe('malformed_token')
  })

  it('signed by one, with the name of the other', async () => {
    const token = await signToken(issuer.key, { iss: 'https://other.example' })
    expect(await captureReason(authenticateBearer(both, token))).toBe('invalid_signature')
  })

  it('with a name similar to one', async () => {
    for (const iss of [
      'https://corp.example/',
      'https://CORP.example',
      ' https://corp.example',
      '',
      undefined,
    ]) {
      expect(await captureReason(authenticateBearer(both, await signToken(issuer.key, { iss })))).toBe(
        'unknown_issuer',
      )
    }
  })
})
