import { randomBytes } from 'node:crypto'
import { readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { createKey } from '../../../src/identity/api-keys/key-store.ts'
import { createAuthenticator } from '../../../src/identity/authenticate.ts'
import { authenticateApiKey, openAuthenticator, captureReason } from '../test-authenticator.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { eventually } from '../../support/eventually.ts'

const pepper = randomBytes(32)
const loader = { principal: 'loader', groups: [] }

/** Times by key id. */
async function readLastUsed(file: string): Promise<Readonly<Record<string, string>>> {
  return JSON.parse(await readFile(file, 'utf8'))
}

async function makeStore() {
  const file = join(await temporaryFolder(), 'keys.yaml')
  return { file, ...(await createKey(file, pepper, loader)) }
}

/** Opens the keys of a gateway with that store; the caller must close them. */
async function open(lastUsedFile: string, store: { readonly file: string }, now: () => number) {
  const apiKeys = { file: store.file, pepper, lastUsedFile }
  return await createAuthenticator({ apiKeys, now, lastUsedIntervalMs: 10, reloadIntervalMs: 10 })
}

it('persists last-used times asynchronously, for accepted keys only', async () => {
  const store = await makeStore()
  const file = `${store.file}.last-used`
  const unused = await createKey(store.file, pepper, loader)
  const authenticator = await open(file, store, () => Date.parse('2026-05-01T10:00:00Z'))
  await authenticateApiKey(authenticator, store.text)
  await captureReason(authenticateApiKey(authenticator, `${unused.text}x`))
  await eventually(async () =>
    expect(await readLastUsed(file)).toEqual({ [store.key.id]: '2026-05-01T10:00:00.000Z' }),
  )
  expect((await stat(file)).mode & 0o777).toBe(0o600)
  await authenticator.close()
  expect((await readdir(join(store.file, '..'))).toSorted()).toEqual(['keys.yaml', 'keys.yaml.last-used'])
})

it('writes last-used times at shutdown, and retains those of the gateway before', async () => {
  const store = await makeStore()
  const file = `${store.file}.last-used`
  for (const time of ['2026-05-02T00:00:00.000Z', '2026-05-01T00:00:00.000Z', '2026-05-03T00:00:00.000Z']) {
    const authenticator = await open(file, store, () => Date.parse(time))
    await authenticateApiKey(authenticator, store.text)
    await authenticator.close()
  }
  expect(await readLastUsed(file)).toEqual({ [store.key.id]: '2026-05-03T00:00:00.000Z' })
})

it('removes keys that are no longer in the store', async () => {
  const store = await makeStore()
  const file = `${store.file}.last-used`
  await writeFile(file, JSON.stringify({ ABCDEFGHIJKL: '2026-01-01T00:00:00.000Z' }))
  const authenticator = await open(file, store, Date.now)
  await authenticateApiKey(authenticator, store.text)
  await authenticator.close()
  expect(Object.keys(await readLastUsed(file))).toEqual([store.key.id])
})

it('reports a failed write, and refuses no request', async () => {
  const store = await makeStore()
  const outcomes: string[] = []
  const authenticator = await openAuthenticator({
    apiKeys: { file: store.file, pepper, lastUsedFile: join(store.file, 'no-folder') },
    lastUsedIntervalMs: 10,
    report: ({ outcome }) => outcomes.push(outcome),
  })
  expect((await authenticateApiKey(authenticator, store.text)).name).toBe('loader')
  await eventually(() => expect(outcomes).toContain('unwritten'))
  expect((await authenticateApiKey(authenticator, store.text)).name).toBe('loader')
})
