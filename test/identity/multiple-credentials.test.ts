import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createKey } from '../../src/identity/api-keys/key-store.ts'
import type { AuthenticatorOptions } from '../../src/identity/authenticate.ts'
import { openAuthenticator, captureError } from './test-authenticator.ts'
import { claimsWith, makeIssuerKey, signed } from './jwt/forged-tokens.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const pepper = randomBytes(32)
const signer = makeIssuerKey('ES256', 'one')
const stranger = makeIssuerKey('ES256', 'one')
const alice = (): string => `Bearer ${signed(signer, claimsWith())}`

/** Opens an authenticator with a key bound to alice and an unbound one. */
async function open(more: AuthenticatorOptions = {}) {
  const folder = await temporaryFolder()
  const [file, jwks] = [join(folder, 'keys.yaml'), join(folder, 'jwks.json')]
  await writeFile(jwks, JSON.stringify({ keys: [signer.published] }))
  const bound = await createKey(file, pepper, { principal: 'laptop', groups: ['eu'], subject: 'corp:alice' })
  const free = await createKey(file, pepper, { principal: 'loader', groups: [] })
  const authenticator = await openAuthenticator({
    apiKeys: { file, pepper },
    issuers: [
      {
        name: 'corp',
        issuer: 'https://corp.example',
        audience: 'catalog',
        algorithms: ['ES256'],
        jwks: { file: jwks },
      },
    ],
    ...more,
  })
  const send = async (apiKey: string | undefined, authorization: string | undefined) =>
    await authenticator.authenticate({ apiKey, authorization })
  return { send, bound: bound.text, free: free.text }
}

describe('several credentials must agree', () => {
  it('the principal is that of the token if the key is bound to its subject', async () => {
    const { send, bound } = await open()
    expect(await send(bound, alice())).toMatchObject({ name: 'corp:alice', method: 'token' })
  })

  it('each credential alone identifies its own principal', async () => {
    const { send, bound } = await open()
    expect(await send(bound, undefined)).toMatchObject({ name: 'laptop', groups: new Set(['eu']) })
    expect(await send(undefined, alice())).toMatchObject({ name: 'corp:alice' })
  })

  it('responds equally to any wrong credential', async () => {
    const { send, bound, free } = await open()
    const bob = `Bearer ${signed(signer, claimsWith({ sub: 'bob' }))}`
    const forged = `Bearer ${signed(stranger)}`
    const expired = `Bearer ${signed(signer, claimsWith({ exp: 1 }))}`
    const attempts: [string, string][] = [
      [free, alice()],
      [bound, bob],
      [bound, forged],
      [bound, expired],
      [bound, 'Basic YTpi'],
      ['nonsense', alice()],
      ['nonsense', 'Bearer nonsense'],
    ]
    for (const [key, authorization] of attempts) {
      const refused = await captureError(send(key, authorization))
      expect(refused).toMatchObject({ status: 401, reason: 'conflicting_credentials' })
      expect(refused.message).toBe((await captureError(send(free, alice()))).message)
    }
  })

  it('responds with 503 if a token cannot be verified now', async () => {
    const jwks = { url: 'http://127.0.0.1:9/keys' }
    const issuer = { name: 'corp', issuer: 'https://corp.example', audience: 'catalog', jwks }
    const { send, bound } = await open({ issuers: [{ ...issuer, algorithms: ['ES256'] }] })
    expect(await captureError(send(bound, alice()))).toMatchObject({
      status: 503,
      reason: 'jwks_unavailable',
    })
  })
})
