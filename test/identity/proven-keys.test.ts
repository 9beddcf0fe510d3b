import { randomBytes } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { createKey, type NewKey } from '../../src/identity/api-key-store.ts'
import { makeApiKey, readApiKey, writeApiKey } from '../../src/identity/api-key-text.ts'
import { createProvenKeys } from '../../src/identity/proven-keys.ts'
import { apiKey, eventually, makeFolder, openAuthenticator, reason } from './authenticating.ts'

const pepper = randomBytes(32)
const loader: NewKey = { principal: 'loader', groups: [] }

it('a key that was proven is asked for its secret again when the store has changed', async () => {
  const file = join(await makeFolder(), 'keys.yaml')
  const { text, key } = await createKey(file, pepper, loader)
  const other = await createKey(file, pepper, { ...loader, principal: 'other' })
  const authenticator = await openAuthenticator({ apiKeys: { file, pepper } })
  for (let time = 0; time < 3; time += 1) expect((await apiKey(authenticator, text)).name).toBe('loader')

  await writeFile(file, (await readFile(file, 'utf8')).replace(key.hash, other.key.hash))
  await eventually(async () => expect(await reason(apiKey(authenticator, text))).toBe('wrong_api_key_secret'))
})

it('a key that was proven does not prove what only begins with it, nor another secret of its id', async () => {
  const file = join(await makeFolder(), 'keys.yaml')
  const { text } = await createKey(file, pepper, loader)
  const other = await createKey(file, pepper, { ...loader, principal: 'other' })
  const authenticator = await openAuthenticator({ apiKeys: { file, pepper } })
  await apiKey(authenticator, text)
  for (const sent of [`${text}x`, text.slice(0, -1), text.toUpperCase(), ` ${text}`]) {
    expect(await reason(apiKey(authenticator, sent))).toBe('malformed_api_key')
  }
  const { id } = readApiKey(text) ?? makeApiKey()
  const { secret } = readApiKey(other.text) ?? makeApiKey()
  expect(await reason(apiKey(authenticator, writeApiKey({ id, secret })))).toBe('wrong_api_key_secret')
  expect((await apiKey(authenticator, other.text)).name).toBe('other')
})

it('keys are remembered by a digest that differs from one process to the next, and not without bound', () => {
  const proven = createProvenKeys<{ readonly number: number }>()
  const digest = proven.digestOf('cgk_a_secret')
  expect(digest).toBe(proven.digestOf('cgk_a_secret'))
  expect(digest).not.toBe(createProvenKeys().digestOf('cgk_a_secret'))
  expect(digest).not.toContain('secret')

  for (let number = 0; number < 50_001; number += 1) proven.keep(String(number), { number })
  expect(proven.find('0')).toBeUndefined()
  expect(proven.find('50000')).toEqual({ number: 50_000 })
  proven.forget()
  expect(proven.find('50000')).toBeUndefined()
})
