import { afterAll, beforeAll, describe, expect, onTestFinished, it } from 'vitest'
import type { Authenticator } from '../../../src/identity/authenticate.ts'
import { createAuthenticator } from '../../../src/identity/authenticate.ts'
import { authenticateBearer, openAuthenticator, captureReason, captureError } from '../test-authenticator.ts'
import { takeRsaKey } from './rsa-keys.ts'
import { claimAttacks } from './claim-attacks.ts'
import { claimsWith, makeIssuerKey, publicJwk, signed, type AttackTools } from './forged-tokens.ts'
import { joseAttacks, noBearerTokens } from './jose-attacks.ts'
import { keyAttacks } from './key-attacks.ts'
import { makeSigningKey, signToken, startIssuer, startServer, type TestIssuer } from './token-issuer.ts'

const algorithms = ['RS256', 'ES256', 'EdDSA'] as const

let issuer: TestIssuer
let authenticator: Authenticator
let tools: AttackTools

beforeAll(async () => {
  tools = {
    rsa: makeIssuerKey('RS256', 'rsa'),
    ec: makeIssuerKey('ES256', 'ec'),
    ed: makeIssuerKey('EdDSA', 'ed'),
    own: takeRsaKey(),
  }
  issuer = await startIssuer({ algorithms: [...algorithms] })
  issuer.published = [tools.rsa.published, tools.ec.published, tools.ed.published]
  authenticator = await createAuthenticator({ issuers: [issuer.configuration] })
})
afterAll(async () => {
  await authenticator.close()
  await issuer.stop()
})

it('the unmodified tokens of the attacks are valid', async () => {
  for (const key of [tools.rsa, tools.ec, tools.ed]) {
    expect((await authenticateBearer(authenticator, signed(key))).name).toBe('corp:alice')
  }
})

it.each([...joseAttacks, ...claimAttacks])('refuses with 401: %s', async (_name, expected, forge) => {
  const refused = await captureError(authenticateBearer(authenticator, forge(tools)))
  expect(refused.reason).toMatch(expected)
  expect(refused.status).toBe(401)
})

it.each(noBearerTokens)('%s is not a bearer token', async (text) => {
  expect(await captureReason(authenticateBearer(authenticator, text))).toBe('malformed_authorization')
})

describe('an unusable key of the issuer', () => {
  it.each(keyAttacks)('verifies no token: %s', async (_name, make) => {
    const { published, token } = make()
    const server = await startServer((_request, response) => {
      response.end(JSON.stringify({ keys: [published] }))
    })
    onTestFinished(() => server.stop())
    const trusting = await openAuthenticator({
      issuers: [{ ...issuer.configuration, jwks: { url: server.url } }],
    })
    expect(await captureReason(authenticateBearer(trusting, token))).toMatch(
      /^(unknown_kid|unusable_key|invalid_signature|disallowed_algorithm)$/,
    )
  })
})

it('neither fetches nor uses a key that a token names or contains', async () => {
  const { own, rsa } = tools
  const attacker = await startServer((_request, response) =>
    response.end(JSON.stringify({ keys: [publicJwk(own, 'rsa')] })),
  )
  onTestFinished(() => attacker.stop())
  for (const header of [{ jku: attacker.url }, { x5u: attacker.url }, { kid: attacker.url }]) {
    const token = signed({ ...rsa, key: own }, claimsWith(), header)
    expect(await captureReason(authenticateBearer(authenticator, token))).toMatch(
      /^invalid_signature|unknown_kid$/,
    )
  }
  expect(attacker.requests()).toBe(0)
})

it('distinguishes two keys of the issuer with one kid from a key of another issuer', async () => {
  const [twin, foreign] = [await makeSigningKey('first'), await makeSigningKey('first')]
  const duplicated = await startIssuer()
  onTestFinished(() => duplicated.stop())
  duplicated.published = [duplicated.key.publicKey, twin.publicKey]
  const trusting = await openAuthenticator({ issuers: [duplicated.configuration] })
  for (const key of [duplicated.key, twin]) {
    expect((await authenticateBearer(trusting, await signToken(key))).name).toBe('corp:alice')
  }
  expect(await captureReason(authenticateBearer(trusting, await signToken(foreign)))).toBe(
    'invalid_signature',
  )
})

it('many random kids cause one fetch', async () => {
  const random = await startIssuer()
  onTestFinished(() => random.stop())
  const trusting = await openAuthenticator({ issuers: [random.configuration] })
  const before = random.requests()
  const send = (kid: string) => captureReason(authenticateBearer(trusting, signed({ ...tools.ec, kid })))
  const reasons = await Promise.all(Array.from({ length: 200 }, (_, index) => send(`random-${index}`)))
  expect(new Set(reasons)).toEqual(new Set(['unknown_kid']))
  for (let index = 0; index < 50; index++) expect(await send(`later-${index}`)).toBe('unknown_kid')
  expect(random.requests() - before).toBe(1)
})

describe('a token with two issuers', () => {
  it.each([
    ['as a list', ['https://corp.example', 'https://other.example'], 'unknown_issuer'],
    ['signed by one, with the name of the other', 'https://other.example', 'invalid_signature'],
  ])('%s', async (_what, iss, reason) => {
    const [one, other] = [
      await startIssuer(),
      await startIssuer({ name: 'other', issuer: 'https://other.example' }),
    ]
    onTestFinished(async () => void (await Promise.all([one.stop(), other.stop()])))
    const both = await openAuthenticator({ issuers: [one.configuration, other.configuration] })
    expect(await captureReason(authenticateBearer(both, await signToken(one.key, { iss })))).toBe(reason)
  })
})
