import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { builtInVocabulary } from '../../../src/policy/language/policy-vocabulary.ts'
import {
  createLastGoodPolicies,
  type LastGoodOptions,
} from '../../../src/policy/source/last-good/last-good-policies.ts'
import { createFolderLocation } from '../../../src/policy/source/policy-location.ts'
import { combineSources, openLocation } from '../../../src/policy/source/policy-source.ts'
import { createAuthorizationRequest, createCaller } from '../policy-builder.ts'
import { readerPolicy, writeFiles } from './policy-folder.ts'
import { eventually } from '../../support/eventually.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const hourMs = 3_600_000

/** Two starts with the same folders see what the first one has stored and recorded. */
async function createFolders() {
  const [folder, stored] = [await temporaryFolder(), join(await temporaryFolder(), 'stored')]
  const recorded: string[] = []
  async function start(changes: Partial<LastGoodOptions> = {}) {
    const events: string[] = []
    const errors: string[] = []
    const lastGood = createLastGoodPolicies({
      folder: stored,
      keyFile: '',
      key: Buffer.from('a key of thirty-two bytes, or more'),
      maxAgeHours: 1,
      vocabulary: builtInVocabulary,
      recordedRevision: recorded.at(-1),
      record: async (revision) => void recorded.push(revision),
      onUse: () => events.push('use'),
      onExpiry: () => events.push('expiry'),
      onRecovery: () => events.push('recovery'),
      onStoreError: (error) => events.push(String(error)),
      ...changes,
    })
    const source = await combineSources(
      [openLocation(createFolderLocation(folder), { intervalMs: 5, lastGood })],
      { onError: ({ message }) => errors.push(message) },
    )
    const stop = async (): Promise<void> => {
      source.close()
      await lastGood.close()
    }
    onTestFinished(stop)
    const mayRead = (user: string): boolean =>
      source
        .current()
        .decide(createAuthorizationRequest(createCaller(user), 'ListTables', 'namespace', ['a'])).allowed
    return { source, events, errors, mayRead, stop }
  }
  const write = (text: string): Promise<void> => writeFiles(folder, { 'a.yaml': text })
  await write(readerPolicy('a', 'alice'))
  return { start, write, file: join(stored, 'last-good-policies'), recorded }
}

const invalid = 'kind: AccessPolicie\n'

it('restored policies that expire are replaced by one that denies everything, until the present ones compile', async () => {
  const { start, write } = await createFolders()
  await (await start({ maxAgeHours: 4_000 / hourMs })).stop()
  await write(invalid)
  const { source, events, mayRead } = await start()
  expect([events, mayRead('alice')]).toEqual([['use'], true])
  await eventually(() => events.includes('expiry'))
  expect(mayRead('alice')).toBe(false)
  expect(
    source
      .current()
      .decide(createAuthorizationRequest(createCaller('alice'), 'ListTables', 'namespace', ['a'])),
  ).toMatchObject({ reason: 'denied', rule: { policy: 'last-good-policies-expired' } })
  await write(readerPolicy('a', 'alice'))
  await eventually(() => expect(events).toEqual(['use', 'expiry', 'recovery']))
  expect(mayRead('alice')).toBe(true)
})

it('stored policies that have expired, or are older than the present maximum age, are not restored', async () => {
  const { start, write } = await createFolders()
  await (await start({ maxAgeHours: 1 / hourMs })).stop()
  await write(invalid)
  await expect(start()).rejects.toThrow('they could be used until ')
  await write(readerPolicy('a', 'alice'))
  await (await start()).stop()
  await write(invalid)
  await expect(start({ maxAgeHours: 1 / hourMs })).rejects.toThrow('they could be used until ')
  await (await start()).stop()
})

it('the time until which policies may be used moves while they are the present ones, and only then', async () => {
  const { start, write, file, recorded } = await createFolders()
  // Confirmed every 100 ms.
  const { events, errors, stop } = await start({ maxAgeHours: (24 * 100) / hourMs })
  const read = async () => JSON.parse((await readFile(file, 'utf8')).split('\n')[0] ?? '')
  await eventually(async () => (await stat(file).catch(() => undefined)) !== undefined)
  const first = await read()
  await eventually(async () => (await read()).usableUntil > first.usableUntil)
  expect(await read()).toMatchObject({ revision: first.revision, inForceSince: first.inForceSince })
  expect(recorded).toHaveLength(1)
  await write(invalid)
  await eventually(() => errors.some((message) => message.includes('AccessPolicie')))
  // The last confirmation may still be being written.
  await new Promise((resolve) => setTimeout(resolve, 300))
  const last = await read()
  await new Promise((resolve) => setTimeout(resolve, 300))
  expect(await read()).toEqual(last)
  await stop()
  expect(events).toEqual([])
})

it('policies whose record cannot be written are not stored until it can', async () => {
  const { start, file, recorded } = await createFolders()
  let isUnavailable = true
  const { events } = await start({
    record: async (revision) => {
      if (isUnavailable) throw new Error('audit log unavailable')
      recorded.push(revision)
    },
  })
  await eventually(() => events.length > 0)
  await expect(stat(file)).rejects.toThrow('ENOENT')
  isUnavailable = false
  await eventually(() => recorded.length > 0)
  await eventually(async () => (await stat(file).catch(() => undefined)) !== undefined)
  expect(events).toEqual(['Error: audit log unavailable'])
})
