import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, expect, onTestFinished, it } from 'vitest'
import { createAuthenticator, type AuthenticatorOptions } from '../../../src/identity/authenticate.ts'
import type { IdentityEvent } from '../../../src/identity/identity-event.ts'
import { authenticateBearer, openAuthenticator, captureReason } from '../test-authenticator.ts'
import { claimsWith, makeIssuerKey, signed, type IssuerKey } from './forged-tokens.ts'
import { startServer, type CountingServer } from './token-issuer.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { eventually } from '../../support/eventually.ts'

const hourMs = 3_600_000
const key = makeIssuerKey('ES256', 'one')

let jwksCacheFolder = ''
let server: CountingServer
let published: readonly IssuerKey[] = []
let file = ''

beforeEach(async () => {
  jwksCacheFolder = join(await temporaryFolder(), 'keys')
  file = join(jwksCacheFolder, 'corp.keys.json')
  published = [key]
  server = await startServer((_request, response) => {
    response.end(JSON.stringify({ keys: published.map((each) => each.published) }))
  })
  onTestFinished(() => server.stop())
})

function options(more: AuthenticatorOptions = {}): AuthenticatorOptions {
  const jwks = { url: server.url }
  const issuer = 'https://corp.example'
  return {
    issuers: [{ name: 'corp', issuer, audience: 'catalog', algorithms: ['ES256'], jwks }],
    jwksCacheFolder,
    jwksTiming: { cooldown: 0.02 },
    ...more,
  }
}

/** Runs once with the issuer up, so that its keys are persisted; then stops the issuer. */
async function persistKeys(): Promise<void> {
  const authenticator = await createAuthenticator(options())
  await authenticator.close()
  await server.stop()
}

it('a start while the issuer is down uses the last valid keys until they are too old', async () => {
  await persistKeys()
  let ahead = 23 * hourMs
  const authenticator = await openAuthenticator(options({ now: () => Date.now() + ahead }))
  const token = (): string => signed(key, claimsWith({ exp: Math.floor((Date.now() + ahead) / 1000) + 60 }))
  expect((await authenticateBearer(authenticator, token())).name).toBe('corp:alice')
  expect(authenticator.status().issuers[0]).toMatchObject({ keyCount: 1, isUsable: true })
  ahead = 25 * hourMs
  expect(await captureReason(authenticateBearer(authenticator, token()))).toBe('jwks_unavailable')
})

it('responds with 503 to an unknown key until the issuer was queried', async () => {
  await persistKeys()
  const authenticator = await openAuthenticator(options())
  const fresh = makeIssuerKey('ES256', 'two')
  expect(await captureReason(authenticateBearer(authenticator, signed(fresh)))).toBe('jwks_unavailable')
  published = [fresh]
  await server.start()
  expect((await eventually(() => authenticateBearer(authenticator, signed(fresh)))).name).toBe('corp:alice')
  expect(await captureReason(authenticateBearer(authenticator, signed(key)))).toBe('unknown_kid')
})

it('current keys of the issuer replace the persisted ones', async () => {
  await persistKeys()
  published = [makeIssuerKey('ES256', 'two')]
  await server.start()
  const authenticator = await openAuthenticator(options())
  expect(await captureReason(authenticateBearer(authenticator, signed(key)))).toBe('unknown_kid')
})

it('the file is readable by its owner only, and nothing else is left behind', async () => {
  await persistKeys()
  expect(await readdir(jwksCacheFolder)).toEqual(['corp.keys.json'])
  expect((await stat(file)).mode & 0o777).toBe(0o600)
  expect((await stat(jwksCacheFolder)).mode & 0o777).toBe(0o700)
})

it.each<[string, (retained: Record<string, unknown>) => string]>([
  ['are of another issuer', (retained) => JSON.stringify({ ...retained, issuer: 'https://was.example' })],
  ['are too old', (retained) => JSON.stringify({ ...retained, fetchedAt: '2020-01-01T00:00:00.000Z' })],
  [
    'come from the future',
    (retained) => JSON.stringify({ ...retained, fetchedAt: '2099-01-01T00:00:00.000Z' }),
  ],
  ['do not say how old they are', (retained) => JSON.stringify({ ...retained, fetchedAt: undefined })],
  ['were cut off', (retained) => JSON.stringify(retained).slice(0, -10)],
  ['are empty', () => ''],
])('persisted keys that %s are not used, and do not prevent the start', async (_what, change) => {
  await persistKeys()
  await writeFile(file, change(JSON.parse(await readFile(file, 'utf8')) as Record<string, unknown>))
  const authenticator = await openAuthenticator(options())
  expect(await captureReason(authenticateBearer(authenticator, signed(key)))).toBe('jwks_unavailable')
})

it('reports keys that cannot be persisted, and uses them', async () => {
  const events: IdentityEvent[] = []
  // Not even root can replace a folder by a file.
  const blocked = join(await temporaryFolder(), 'blocked')
  await mkdir(join(blocked, 'corp.keys.json'), { recursive: true })
  const other = await openAuthenticator(
    options({ jwksCacheFolder: blocked, report: (event) => events.push(event) }),
  )
  await eventually(() => expect(events).toContainEqual(expect.objectContaining({ outcome: 'unwritten' })))
  expect((await authenticateBearer(other, signed(key))).name).toBe('corp:alice')
})
