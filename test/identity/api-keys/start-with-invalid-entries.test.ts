import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { stringify } from 'yaml'
import { createKey } from '../../../src/identity/api-keys/key-store.ts'
import { listKeys } from '../../../src/identity/api-keys/key-store-file.ts'
import type { IdentityEvent } from '../../../src/identity/runtime.ts'
import { authenticateApiKey, captureReason, openAuthenticator } from '../test-authenticator.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { eventually } from '../../support/eventually.ts'

const pepper = randomBytes(32)

type Entry = Readonly<Record<string, unknown>>

/** How a store is written: one line for each key, as the commands do, or as a person may. */
const forms: readonly (readonly [name: string, format: (entries: readonly Entry[]) => string])[] = [
  ['a line', (entries) => entries.map((entry) => `  - ${JSON.stringify(entry)}\n`).join('')],
  ['several lines', (entries) => stringify(entries, { aliasDuplicateObjects: false })],
]

/** Two keys: tests spoil the second one. */
async function makeStore() {
  const file = join(await temporaryFolder(), 'keys.yaml')
  const good = await createKey(file, pepper, { principal: 'good', groups: [] })
  const other = await createKey(file, pepper, { principal: 'other', groups: [] })
  return { file, good, other }
}

async function open(file: string) {
  const events: IdentityEvent[] = []
  const authenticator = await openAuthenticator({
    apiKeys: { file, pepper },
    report: (event) => events.push(event),
  })
  return { authenticator, events }
}

describe.each(forms)('a start with a store of which each key is %s', (_form, format) => {
  const writeStore = (file: string, entries: readonly Entry[]): Promise<void> =>
    writeFile(file, `# keys\nkeys:\n${format(entries)}`)

  it.each<[what: string, members: Entry]>([
    ['a misspelt member', { principal: undefined, prinicpal: 'other' }],
    ['a misspelt revocation', { revoketAt: '2026-01-31T12:00:00Z' }],
    ['a revocation without a time', { revokedAt: 'yes' }],
    ['an expiry that is no time', { expiresAt: 'soon' }],
    ['groups that are no list', { groups: 'everyone' }],
  ])('refuses a key with %s alone, and says so', async (_what, members) => {
    const { file, good, other } = await makeStore()
    await writeStore(file, [good.key, { ...other.key, ...members }])
    const { authenticator, events } = await open(file)
    expect((await authenticateApiKey(authenticator, good.text)).name).toBe('good')
    expect(await captureReason(authenticateApiKey(authenticator, other.text))).toBe('unknown_api_key')
    expect(authenticator.status().apiKeys).toMatchObject({ keys: 1, isOutdated: true })
    expect(events.find(({ outcome }) => outcome === 'refused-keys')?.cause).toMatch(
      /keys\.yaml:\d+: keys\[1\]/,
    )
    await expect(listKeys(file)).rejects.toThrow('keys[1]')

    await writeStore(file, [good.key, other.key])
    await eventually(() => authenticateApiKey(authenticator, other.text))
    expect(authenticator.status().apiKeys).toMatchObject({ keys: 2, isOutdated: false })
  })

  it('refuses both of two entries of one id: one of them may say that it is revoked', async () => {
    const { file, good, other } = await makeStore()
    const revoked = { ...other.key, revokedAt: '2026-01-31T12:00:00Z' }
    await writeStore(file, [good.key, revoked, other.key])
    const { authenticator } = await open(file)
    expect((await authenticateApiKey(authenticator, good.text)).name).toBe('good')
    expect(await captureReason(authenticateApiKey(authenticator, other.text))).toBe('unknown_api_key')
  })
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
