import { randomBytes } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { createKey, listKeys } from '../../../src/identity/api-keys/key-store.ts'
import type { IdentityEvent } from '../../../src/identity/identity-event.ts'
import { authenticateApiKey, captureReason, openAuthenticator } from '../test-authenticator.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { eventually } from '../../support/eventually.ts'

const pepper = randomBytes(32)

/** A store with a valid first key, and a second one that a test spoils. */
async function makeStore() {
  const file = join(await temporaryFolder(), 'keys.yaml')
  const good = await createKey(file, pepper, { principal: 'good', groups: [] })
  const other = await createKey(file, pepper, { principal: 'other', groups: [] })
  const valid = await readFile(file, 'utf8')
  return { file, good, other, valid }
}

async function open(file: string) {
  const events: IdentityEvent[] = []
  const authenticator = await openAuthenticator({
    apiKeys: { file, pepper },
    report: (event) => events.push(event),
  })
  return { authenticator, events }
}

it.each<[what: string, spoil: (entry: string) => string]>([
  ['a misspelt member', (entry) => entry.replace('principal:', 'prinicpal:')],
  ['a misspelt revocation', (entry) => `${entry}    revoketAt: 2026-01-31T12:00:00Z\n`],
  ['a revocation without a time', (entry) => `${entry}    revokedAt: yes\n`],
  ['an expiry that is no time', (entry) => `${entry}    expiresAt: soon\n`],
  ['groups that are no list', (entry) => entry.replace('groups: []', 'groups: everyone')],
])('a start with %s in an entry refuses that key alone, and says so', async (_what, spoil) => {
  const { file, good, other, valid } = await makeStore()
  const at = valid.lastIndexOf('  - id:')
  await writeFile(file, valid.slice(0, at) + spoil(valid.slice(at)))
  const { authenticator, events } = await open(file)
  expect((await authenticateApiKey(authenticator, good.text)).name).toBe('good')
  expect(await captureReason(authenticateApiKey(authenticator, other.text))).toBe('unknown_api_key')
  expect(authenticator.status().apiKeys).toMatchObject({ keys: 1, isOutdated: true })
  expect(events.find(({ outcome }) => outcome === 'refused-keys')?.cause).toMatch(/keys\.yaml:\d+: keys\[1\]/)
  await expect(listKeys(file)).rejects.toThrow('keys[1]')

  await writeFile(file, valid)
  await eventually(() => authenticateApiKey(authenticator, other.text))
  expect(authenticator.status().apiKeys).toMatchObject({ keys: 2, isOutdated: false })
})

it('a start with two entries of one id refuses both: one of them may say that it is revoked', async () => {
  const { file, good, other, valid } = await makeStore()
  const entry = valid.slice(valid.lastIndexOf('  - id:'))
  await writeFile(file, `${valid}${entry}    revokedAt: 2026-01-31T12:00:00Z\n`)
  const { authenticator } = await open(file)
  expect((await authenticateApiKey(authenticator, good.text)).name).toBe('good')
  expect(await captureReason(authenticateApiKey(authenticator, other.text))).toBe('unknown_api_key')
})

it.each([
  ['empty', ''],
  ['not YAML', 'keys: {'],
  ['of another shape', 'kyes: []\n'],
])('a start with a store that is %s fails', async (_what, text) => {
  const { file } = await makeStore()
  await writeFile(file, text)
  await expect(open(file)).rejects.toThrow('keys.yaml:1: ')
})
