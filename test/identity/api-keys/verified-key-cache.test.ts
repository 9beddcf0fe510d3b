import { randomBytes } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { createKey, type NewKey } from '../../../src/identity/api-keys/key-store.ts'
import { generateApiKey, parseApiKey, formatApiKey } from '../../../src/identity/api-keys/api-key-format.ts'
import { authenticateApiKey, openAuthenticator, captureReason } from '../test-authenticator.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { eventually } from '../../support/eventually.ts'

const pepper = randomBytes(32)
const loader: NewKey = { principal: 'loader', groups: [] }

it('verifies a cached key again after a change of the store', async () => {
  const file = join(await temporaryFolder(), 'keys.yaml')
  const { text, key } = await createKey(file, pepper, loader)
  const other = await createKey(file, pepper, { ...loader, principal: 'other' })
  const authenticator = await openAuthenticator({ apiKeys: { file, pepper } })
  for (let time = 0; time < 3; time += 1)
    expect((await authenticateApiKey(authenticator, text)).name).toBe('loader')

  await writeFile(file, (await readFile(file, 'utf8')).replace(key.hash, other.key.hash))
  await eventually(async () =>
    expect(await captureReason(authenticateApiKey(authenticator, text))).toBe('wrong_api_key_secret'),
  )
})

it('a cached key proves neither an extended text nor another secret of its id', async () => {
  const file = join(await temporaryFolder(), 'keys.yaml')
  const { text } = await createKey(file, pepper, loader)
  const other = await createKey(file, pepper, { ...loader, principal: 'other' })
  const authenticator = await openAuthenticator({ apiKeys: { file, pepper } })
  await authenticateApiKey(authenticator, text)
  for (const sent of [`${text}x`, text.slice(0, -1), text.toUpperCase(), ` ${text}`]) {
    expect(await captureReason(authenticateApiKey(authenticator, sent))).toBe('malformed_api_key')
  }
  const { id } = parseApiKey(text) ?? generateApiKey()
  const { secret } = parseApiKey(other.text) ?? generateApiKey()
  expect(await captureReason(authenticateApiKey(authenticator, formatApiKey({ id, secret })))).toBe(
    'wrong_api_key_secret',
  )
  expect((await authenticateApiKey(authenticator, other.text)).name).toBe('other')
})
