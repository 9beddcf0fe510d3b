import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createKey, revokeKey } from '../../src/identity/api-keys/key-store.ts'
import type { Authenticator } from '../../src/identity/authenticate.ts'
import {
  authenticateApiKey,
  authenticateBearer,
  openAuthenticator,
  captureReason,
  captureError,
} from './test-authenticator.ts'
import { makeSigningKey, signToken, startIssuer, type TestIssuer } from './jwt/token-issuer.ts'
import { addKeyOfOtherPepper } from './api-keys/key-of-other-pepper.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const challenge = 'Bearer realm="catalog-gateway"'
const keyChallenge = 'ApiKey realm="catalog-gateway", header="x-api-key"'
const pepper = randomBytes(32)

let issuer: TestIssuer
beforeAll(async () => {
  issuer = await startIssuer()
})
afterAll(() => issuer.stop())

async function authenticate(
  authenticator: Authenticator,
  key: string | undefined,
  authorization: string | undefined,
) {
  return await authenticator.authenticate({ apiKey: key, authorization })
}

it('refuses a request without credentials with 401 and a bare challenge', async () => {
  const authenticator = await openAuthenticator({})
  expect(await captureError(authenticate(authenticator, undefined, undefined))).toMatchObject({
    status: 401,
    code: 16,
    reason: 'missing_credential',
    headers: { 'www-authenticate': `${challenge}, ${keyChallenge}` },
  })
})

it('takes a caller for anonymous only without credentials, and if the settings say so', async () => {
  const authenticator = await openAuthenticator({ anonymous: true })
  expect(await authenticate(authenticator, undefined, undefined)).toMatchObject({ method: 'anonymous' })
  expect(await captureReason(authenticate(authenticator, 'wrong', undefined))).toBe('malformed_api_key')
  expect(await captureReason(authenticate(authenticator, undefined, 'Bearer a.b.c'))).toBe('malformed_token')
})

it.each(['bearer ', 'Bearer a b', 'Bearer a,b', 'Bearer "a"', 'BEARER\ta', 'Bearer =', ' Bearer a', ','])(
  'refuses Authorization "%s" with 400',
  async (authorization) => {
    const authenticator = await openAuthenticator({ issuers: [issuer.configuration] })
    expect(await captureError(authenticate(authenticator, undefined, authorization))).toMatchObject({
      status: 400,
      code: 13,
      reason: 'malformed_authorization',
      headers: { 'www-authenticate': `${challenge}, error="invalid_request", ${keyChallenge}` },
    })
  },
)

it.each(['Basic YTpi', 'Digest a="b"', 'Negotiate', 'BearerX abc', 'XBearer abc'])(
  'refuses the scheme of "%s" with 401',
  async (authorization) => {
    const authenticator = await openAuthenticator({ issuers: [issuer.configuration] })
    expect(await captureError(authenticate(authenticator, undefined, authorization))).toMatchObject({
      status: 401,
      reason: 'unsupported_scheme',
      headers: { 'www-authenticate': `${challenge}, ${keyChallenge}` },
    })
  },
)

it('accepts the scheme in any case', async () => {
  const authenticator = await openAuthenticator({ issuers: [issuer.configuration] })
  const token = await signToken(issuer.key)
  for (const scheme of ['Bearer', 'bearer', 'BEARER', 'bEaReR  ']) {
    expect((await authenticate(authenticator, undefined, `${scheme} ${token}`)).name).toBe('corp:alice')
  }
})

it('refuses an invalid token with 401 and invalid_token', async () => {
  const authenticator = await openAuthenticator({ issuers: [issuer.configuration] })
  for (const token of ['abc', 'a.b.c', await signToken(await makeSigningKey('first'))]) {
    expect(await captureError(authenticateBearer(authenticator, token))).toMatchObject({
      status: 401,
      headers: { 'www-authenticate': `${challenge}, error="invalid_token", ${keyChallenge}` },
    })
  }
})

it.each([
  ['', undefined],
  [undefined, 'Bearer'],
  ['development', ''],
  ['', 'Bearer abc'],
])('names an empty credential: key %j, authorization %j', async (key, authorization) => {
  const staticKey = { text: 'development', principal: 'alice', groups: [] }
  const authenticator = await openAuthenticator({ issuers: [issuer.configuration], staticKey })
  expect(await captureError(authenticate(authenticator, key, authorization))).toMatchObject({
    status: 400,
    reason: 'empty_credential',
    message: expect.stringContaining('is empty'),
  })
})

it('responds equally to unknown, wrong, revoked and expired keys, and echoes nothing', async () => {
  const file = join(await temporaryFolder(), 'keys.yaml')
  const loader = { principal: 'loader', groups: [] }
  const elsewhere = await createKey(join(file, '..', 'other.yaml'), pepper, loader)
  const revoked = await createKey(file, pepper, loader)
  await revokeKey(file, revoked.key.id)
  const expired = await createKey(file, pepper, { ...loader, expiresAt: new Date(0) })
  const wrong = await addKeyOfOtherPepper(file, loader)
  const authenticator = await openAuthenticator({ apiKeys: { file, pepper } })

  const cases = {
    unknown_api_key: elsewhere,
    wrong_api_key_secret: wrong,
    revoked_api_key: revoked,
    expired_api_key: expired,
  }
  const responses = await Promise.all(
    Object.entries(cases).map(async ([expected, { text, key }]) => {
      const refused = await captureError(authenticateApiKey(authenticator, text))
      expect(refused.reason).toBe(expected)
      const response = JSON.stringify([refused.toResponse('request'), refused.headers])
      expect(response).not.toContain(key.id)
      return response
    }),
  )
  expect(new Set(responses).size).toBe(1)
})

it('the cause of a refused token contains neither the token nor its claims', async () => {
  const authenticator = await openAuthenticator({ issuers: [issuer.configuration] })
  const token = await signToken(issuer.key, { aud: 'another', sub: 'private-name' })
  const { cause } = await captureError(authenticateBearer(authenticator, token))
  expect(cause).toBe('unexpected "aud" claim value')
})

it('refuses a token if no issuer is configured', async () => {
  expect(
    await captureReason(authenticateBearer(await openAuthenticator({}), await signToken(issuer.key))),
  ).toBe('unknown_issuer')
})
