import { expect, onTestFinished, it } from 'vitest'
import type { TokenIssuerInput } from '../../../src/config/token-issuer-settings.ts'
import { authenticateBearer, openAuthenticator, captureReason, captureError } from '../test-authenticator.ts'
import { makeProviderKey, startIdentityProvider, type IdentityProvider } from './identity-provider.ts'
import { eventually } from '../../support/eventually.ts'

const audience = 'urn:catalog'

async function startProvider(...kids: string[]): Promise<IdentityProvider> {
  const provider = await startIdentityProvider(kids.map(makeProviderKey))
  onTestFinished(() => provider.stop())
  return provider
}

function trust(provider: IdentityProvider): TokenIssuerInput {
  return {
    name: 'corp',
    issuer: provider.issuer,
    audience,
    algorithms: ['RS256'],
    jwks: { url: provider.keysUrl },
  }
}

it('a token of the provider identifies its client', async () => {
  const provider = await startProvider('one')
  const authenticator = await openAuthenticator({ issuers: [trust(provider)] })
  const principal = await authenticateBearer(authenticator, await provider.issueToken(audience))
  expect(principal).toMatchObject({ name: 'corp:loader', method: 'token', issuer: 'corp' })
})

it('refuses a token for another audience', async () => {
  const provider = await startProvider('one')
  const authenticator = await openAuthenticator({ issuers: [trust(provider)] })
  const token = await provider.issueToken('urn:another')
  expect(await captureReason(authenticateBearer(authenticator, token))).toBe('wrong_audience')
})

it('refuses a token of another provider', async () => {
  const [provider, stranger] = [await startProvider('one'), await startProvider('one')]
  const authenticator = await openAuthenticator({ issuers: [trust(provider)] })
  const token = await stranger.issueToken(audience)
  expect(await captureReason(authenticateBearer(authenticator, token))).toBe('unknown_issuer')
})

it('accepts a new key without a restart', async () => {
  const provider = await startProvider('one')
  const authenticator = await openAuthenticator({ issuers: [trust(provider)] })
  await authenticateBearer(authenticator, await provider.issueToken(audience))
  provider.useKeys([makeProviderKey('two'), makeProviderKey('three')])
  const principal = await authenticateBearer(authenticator, await provider.issueToken(audience))
  expect(principal.name).toBe('corp:loader')
})

it('refuses tokens of a removed key, including cached ones', async () => {
  const provider = await startProvider('one')
  const authenticator = await openAuthenticator({ issuers: [trust(provider)], jwksTiming: { refresh: 0.05 } })
  const token = await provider.issueToken(audience)
  await authenticateBearer(authenticator, token)
  provider.useKeys([makeProviderKey('two')])
  await eventually(async () =>
    expect(await captureReason(authenticateBearer(authenticator, token))).toBe('unknown_kid'),
  )
})

it('uses the last keys while the provider is down, until they are too old', async () => {
  const provider = await startProvider('one')
  let ahead = 0
  const now = (): number => Date.now() + ahead
  const authenticator = await openAuthenticator({ issuers: [trust(provider)], now })
  const [known, fresh] = [await provider.issueToken(audience), await provider.issueToken(audience)]
  await authenticateBearer(authenticator, known)
  await provider.stop()

  ahead = 23 * 3_600_000
  await authenticateBearer(authenticator, known)
  await authenticateBearer(authenticator, fresh)
  expect(authenticator.status().issuers[0]?.isUsable).toBe(true)

  ahead = 25 * 3_600_000
  for (const token of [known, fresh]) {
    const refused = await captureError(authenticateBearer(authenticator, token))
    expect(refused).toMatchObject({ status: 503, code: 17, reason: 'jwks_unavailable' })
    expect(refused.headers).toHaveProperty('retry-after')
  }
  expect(authenticator.status().issuers[0]?.isUsable).toBe(false)

  await provider.start()
  ahead += 60_000
  expect((await authenticateBearer(authenticator, known)).name).toBe('corp:loader')
})
