import { readFile, writeFile } from 'node:fs/promises'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { formatApiKey } from '../../../src/identity/api-keys/api-key-format.ts'
import { createKey, revokeKey, type NewKey } from '../../../src/identity/api-keys/key-store.ts'
import type { AuthenticatorOptions } from '../../../src/identity/authenticate.ts'
import { authenticateApiKey, openAuthenticator, captureReason } from '../test-authenticator.ts'
import { addKeyOfOtherPepper } from './key-of-other-pepper.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { eventually } from '../../support/eventually.ts'

const pepper = randomBytes(32)
const loader: NewKey = { principal: 'loader', groups: ['writers', 'eu'] }

async function makeStore(request: Partial<NewKey> = {}) {
  const file = join(await temporaryFolder(), 'keys.yaml')
  const { text, key } = await createKey(file, pepper, { ...loader, ...request })
  const options: AuthenticatorOptions = { apiKeys: { file, pepper } }
  return { file, text, key, options }
}

it('a key identifies its principal', async () => {
  const { text, key, options } = await makeStore()
  expect(await authenticateApiKey(await openAuthenticator(options), text)).toEqual({
    name: 'loader',
    method: 'api-key',
    groups: new Set(['writers', 'eu']),
    credentialId: key.id,
  })
})

it('verifies synchronously, and creates the principal once', async () => {
  const { text, options } = await makeStore()
  const authenticator = await openAuthenticator(options)
  const credentials = { apiKey: text, authorization: undefined }
  expect(authenticator.authenticate(credentials)).toBe(authenticator.authenticate(credentials))
  expect(authenticator.authenticate(credentials)).not.toBeInstanceOf(Promise)
})

it('refuses keys that were never issued', async () => {
  const { file, text, key, options } = await makeStore()
  const authenticator = await openAuthenticator(options)
  const { text: other } = await createKey(join(file, '..', 'other.yaml'), pepper, loader)
  expect(await captureReason(authenticateApiKey(authenticator, other))).toBe('unknown_api_key')
  expect(key.hash).not.toContain(text.split('_')[2])
})

it('a key that was accepted proves no other text, no other secret, and nothing after a change of the store', async () => {
  const { file, text, key, options } = await makeStore()
  const other = await createKey(file, pepper, { ...loader, principal: 'other' })
  const authenticator = await openAuthenticator(options)
  const reasonOf = (sent: string) => captureReason(authenticateApiKey(authenticator, sent))
  await authenticateApiKey(authenticator, text)
  for (const broken of ['x', text.slice(0, -1), `${text}x`, ` ${text}`, `${text}\n`, text.toUpperCase()])
    expect(await reasonOf(broken)).toBe('malformed_api_key')
  const [, , secret = ''] = other.text.split('_')
  expect(await reasonOf(formatApiKey({ id: key.id, secret }))).toBe('wrong_api_key_secret')
  expect((await authenticateApiKey(authenticator, other.text)).name).toBe('other')
  await writeFile(file, (await readFile(file, 'utf8')).replace(key.hash, other.key.hash))
  await eventually(async () => expect(await reasonOf(text)).toBe('wrong_api_key_secret'))
})

it('rejects a short pepper', async () => {
  const { file } = await makeStore()
  await expect(openAuthenticator({ apiKeys: { file, pepper: randomBytes(16) } })).rejects.toThrow('32 bytes')
  await expect(createKey(file, randomBytes(16), loader)).rejects.toThrow('32 bytes')
})

it('refuses a key before and after its validity period', async () => {
  const [notBefore, expiresAt] = [new Date(Date.now() + 60_000), new Date(Date.now() + 120_000)]
  const { text, options } = await makeStore({ notBefore, expiresAt })
  let time = notBefore.getTime() - 1
  const authenticator = await openAuthenticator({ ...options, now: () => time })
  expect(await captureReason(authenticateApiKey(authenticator, text))).toBe('api_key_not_yet_valid')
  for (time of [notBefore.getTime(), expiresAt.getTime() - 1])
    expect((await authenticateApiKey(authenticator, text)).name).toBe('loader')
  time = expiresAt.getTime()
  expect(await captureReason(authenticateApiKey(authenticator, text))).toBe('expired_api_key')
})

it('rotation: a second key of the same principal, then the first is revoked', async () => {
  const { file, text, key, options } = await makeStore()
  const authenticator = await openAuthenticator(options)
  const second = await createKey(file, pepper, loader)
  await eventually(() => authenticateApiKey(authenticator, second.text))
  expect((await authenticateApiKey(authenticator, text)).name).toBe('loader')

  await revokeKey(file, key.id)
  await eventually(async () =>
    expect(await captureReason(authenticateApiKey(authenticator, text))).toBe('revoked_api_key'),
  )
  expect((await authenticateApiKey(authenticator, second.text)).name).toBe('loader')
})

it('retains the last valid keys if the store becomes invalid', async () => {
  const { file, text, options } = await makeStore()
  const failures: unknown[] = []
  const authenticator = await openAuthenticator({
    ...options,
    report: ({ outcome, cause }) => outcome === 'failed' && failures.push(cause),
  })
  await writeFile(file, 'keys: {')
  await eventually(() => expect(authenticator.status().apiKeys).toEqual({ keys: 1, isOutdated: true }))
  await authenticateApiKey(authenticator, text)
  expect(String(failures[0])).toContain(`${file}:1: `)

  await writeFile(file, 'keys: []')
  await eventually(() => expect(authenticator.status().apiKeys).toEqual({ keys: 0, isOutdated: false }))
  expect(await captureReason(authenticateApiKey(authenticator, text))).toBe('unknown_api_key')
})

it('accepts the development key in addition to the store', async () => {
  const { text, options } = await makeStore()
  const staticKey = { text: 'dev-key-1', principal: 'dev', groups: ['everything'] }
  const authenticator = await openAuthenticator({ ...options, staticKey })
  expect(await authenticateApiKey(authenticator, 'dev-key-1')).toMatchObject({
    name: 'dev',
    credentialId: 'static',
  })
  expect((await authenticateApiKey(authenticator, text)).name).toBe('loader')
  expect(await captureReason(authenticateApiKey(authenticator, 'dev-key-2'))).toBe('malformed_api_key')
})

it.each(['short', 'with space in it', 'tab\there-and-long', 'umlaut-ä-and-long', ''])(
  'rejects the development key "%s"',
  async (text) => {
    const staticKey = { text, principal: 'dev', groups: [] }
    await expect(openAuthenticator({ staticKey })).rejects.toThrow('printable')
  },
)

it('refuses all keys if none are configured', async () => {
  const { text } = await makeStore()
  expect(await captureReason(authenticateApiKey(await openAuthenticator({}), text))).toBe('unknown_api_key')
})

it('does not start with a pepper that fits none of the keys, unless all of them are revoked', async () => {
  const { file, key, options } = await makeStore()
  const other = { ...options, apiKeys: { file, pepper: Buffer.alloc(32, 'another pepper') } }
  await expect(openAuthenticator(other)).rejects.toThrow(`the pepper is not the one of the keys ${key.id}`)
  await revokeKey(file, key.id)
  expect((await openAuthenticator(other)).status().apiKeys).toEqual({ keys: 1, isOutdated: false })
})

it('starts if a key names no pepper, which may fit', async () => {
  const { file, text, key, options } = await makeStore()
  await addKeyOfOtherPepper(file, loader)
  const store = await readFile(file, 'utf8')
  await writeFile(file, store.replace(`,"pepper":"${key.pepper}"`, ''))
  expect((await authenticateApiKey(await openAuthenticator(options), text)).name).toBe('loader')
})
