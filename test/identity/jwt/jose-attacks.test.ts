import { afterAll, beforeAll, describe, expect, onTestFinished, it } from 'vitest'
import type { Authenticator } from '../../../src/identity/authenticate.ts'
import { createAuthenticator } from '../../../src/identity/authenticate.ts'
import { authenticateBearer, openAuthenticator, captureReason, captureError } from '../test-authenticator.ts'
import { takeRsaKey } from './rsa-keys.ts'
import { claimAttacks } from './claim-attacks.ts'
import { makeIssuerKey, signed, type AttackTools } from './forged-tokens.ts'
import { joseAttacks, noBearerTokens } from './jose-attacks.ts'
import { keyAttacks } from './key-attacks.ts'
import { startIssuer, startServer, type TestIssuer } from './token-issuer.ts'

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
