import { randomBytes } from 'node:crypto'
import { readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, it } from 'vitest'
import { createKey } from '../../../src/identity/api-keys/key-store.ts'
import { createAuthenticator } from '../../../src/identity/authenticate.ts'
import { openLastUsedRecorder } from '../../../src/identity/api-keys/last-used.ts'
import { authenticateApiKey, openAuthenticator, captureReason } from '../test-authenticator.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { eventually } from '../../support/eventually.ts'

const pepper = randomBytes(32)
const loader = { principal: 'loader', groups: [] }

/** Times by key id, and when they were written, in milliseconds. */
async function readLastUsed(file: string) {
  const content: Record<string, string> = JSON.parse(await readFile(file, 'utf8'))
  const times = new Map(Object.entries(content).map(([id, time]) => [id, Date.parse(time)]))
  return { asOf: (await stat(file)).mtime.getTime(), times }
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
  await eventually(async () => expect((await readLastUsed(file)).times.size).toBe(1))
  expect((await readLastUsed(file)).times.get(store.key.id)).toBe(Date.parse('2026-05-01T10:00:00Z'))
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
  expect(new Date((await readLastUsed(file)).times.get(store.key.id) ?? 0).toISOString()).toBe(
    '2026-05-03T00:00:00.000Z',
  )
})

it('removes keys that are no longer in the store', async () => {
  const store = await makeStore()
  const file = `${store.file}.last-used`
  await writeFile(file, JSON.stringify({ ABCDEFGHIJKL: '2026-01-01T00:00:00.000Z' }))
  const authenticator = await open(file, store, Date.now)
  await authenticateApiKey(authenticator, store.text)
  await authenticator.close()
  expect([...(await readLastUsed(file)).times.keys()]).toEqual([store.key.id])
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

it('other events are served while the times of many keys are written', async () => {
  const file = join(await temporaryFolder(), 'last-used')
  const ids = Array.from({ length: 100_000 }, (_, index) => `key${String(index).padStart(9, '0')}`)
  const recorder = openLastUsedRecorder({
    file,
    intervalMs: 60_000,
    isKnown: () => true,
    onError: (cause) => expect.fail(String(cause)),
  })
  await eventually(() => stat(file))
  for (const id of ids) recorder.record(id, 0)
  let served = 0
  const serving = setInterval(() => served++, 1)
  onTestFinished(() => clearInterval(serving))
  await recorder.close()
  expect(served).toBeGreaterThan(2)
  const { times } = await readLastUsed(file)
  expect([...times.keys()]).toEqual(ids)
  expect(new Set(times.values())).toEqual(new Set([0]))
})

it('writes the file at startup, and the first use of a key soon', async () => {
  const store = await makeStore()
  const file = `${store.file}.last-used`
  const apiKeys = { file: store.file, pepper, lastUsedFile: file }
  const authenticator = await createAuthenticator({ apiKeys })
  onTestFinished(() => authenticator.close())
  await eventually(async () => expect((await readLastUsed(file)).times.size).toBe(0))
  await authenticateApiKey(authenticator, store.text)
  await eventually(async () => expect([...(await readLastUsed(file)).times.keys()]).toEqual([store.key.id]))
})

it('the file shows when it was written, even if no key is used', async () => {
  const store = await makeStore()
  const file = `${store.file}.last-used`
  const authenticator = await open(file, store, Date.now)
  onTestFinished(() => authenticator.close())
  const { asOf } = await eventually(() => readLastUsed(file))
  await eventually(async () => expect((await readLastUsed(file)).asOf).toBeGreaterThan(asOf))
})
