import { expect, it } from 'vitest'
import { openAuditLog, type AuditLog } from '../../src/audit/log/audit-log.ts'
import type { AuditEntry } from '../../src/console/audit/audit-entries.ts'
import { parseSearch, searchEntries } from '../../src/console/audit/search.ts'
import { CatalogError } from '../../src/catalog-api/catalog-error.ts'
import { createNewestEntriesReader } from '../../src/console/audit/newest-entries.ts'
import {
  aRefusal,
  anIntent,
  committed,
  logOptions,
  ofKind,
  recordsOf,
  writeChanges,
} from '../audit/audit-fixtures.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

async function openLog(folder: string, changed = {}): Promise<AuditLog> {
  return openAuditLog(logOptions(folder, changed))
}

const requests = (entries: readonly AuditEntry[]) => entries.map(({ request }) => request)

it('changes and refusals have their records, and reads are left out', async () => {
  const folder = await temporaryFolder()
  const log = await openLog(folder)
  const newest = createNewestEntriesReader(folder, () => log.durableEnd())
  log.recordRefusal(aRefusal('refused', { needs: 'DropTable on "production$orders"' }))
  const receipt = await log.recordIntent(anIntent('one'))
  expect((await newest()).entries).toMatchObject([
    { request: 'one', id: 'production/orders' },
    { request: 'refused' },
  ])
  expect((await newest()).entries[0]?.outcome).toBeUndefined()
  await log.recordOutcome(receipt, committed)
  await log.recordIntent({ ...anIntent('read'), operation: 'ListTables', effect: 'read' })
  const [change, refusal, ...others] = (await newest()).entries
  await log.close()
  expect(others).toEqual([])
  const records = await recordsOf(folder)
  const position = (kind: 'intent' | 'outcome') => {
    const [{ seq, hash } = { seq: -1, hash: '' }] = ofKind(records, kind)
    return `record ${seq} of ${log.chain}, hash ${hash.slice(0, 12)}`
  }
  expect(change).toMatchObject({
    rule: { policy: 'production', rule: 'writers' },
    principal: 'corp:alice',
    position: position('intent'),
    outcome: { result: 'committed', version: 7, position: position('outcome') },
  })
  expect(refusal?.refusal).toMatchObject({
    status: 403,
    reason: 'no_rule',
    needs: 'DropTable on "production$orders"',
  })
})

it('the newest 50 changes of all segments are shown', async () => {
  const folder = await temporaryFolder()
  const log = await openLog(folder, { segmentBytes: 64 * 1024 })
  const newest = createNewestEntriesReader(folder, () => log.durableEnd())
  await writeChanges(log, 300)
  const { entries: changes } = await newest()
  expect(requests(changes)).toEqual(Array.from({ length: 50 }, (_, index) => `${299 - index}`))
  expect(changes.every(({ outcome }) => outcome?.result === 'committed')).toBe(true)
  await log.close()
})

it('after a start, earlier changes are shown with their outcomes', async () => {
  const folder = await temporaryFolder()
  const before = await openLog(folder)
  await before.recordOutcome(await before.recordIntent(anIntent('done')), committed)
  await before.recordIntent(anIntent('broken off'))
  await before.close()
  const log = await openLog(folder)
  const { entries, seal } = await createNewestEntriesReader(folder, () => log.durableEnd())()
  await log.close()
  expect(entries).toMatchObject([
    { request: 'broken off', outcome: { result: 'unknown' } },
    { request: 'done', outcome: { result: 'committed' } },
  ])
  expect(seal).toBeDefined()
})

it('a search finds requests in the whole log, with outcomes that came later', async () => {
  const folder = await temporaryFolder()
  const log = await openLog(folder, { segmentBytes: 64 * 1024 })
  const early = await log.recordIntent({
    ...anIntent('early'),
    operation: 'CreateNamespace',
    id: ['lab', 'x'],
  })
  await writeChanges(log, 300)
  await log.recordOutcome(early, committed)
  const find = (parameters: object) => searchEntries(folder, parseSearch(parameters))
  const found = await find({ object: 'lab' })
  expect(found).toMatchObject({
    isComplete: true,
    entries: [{ request: 'early', outcome: { result: 'committed' } }],
  })
  expect(requests((await find({ request: '3' })).entries)).toEqual(['3'])
  const { entries, isComplete } = await find({ object: 'production', kinds: 'change,refusal' })
  expect({ isComplete, newest: requests(entries).slice(0, 2) }).toEqual({
    isComplete: false,
    newest: ['299', '298'],
  })
  expect((await find({ kinds: 'refusal' })).entries).toEqual([])
  expect((await find({ until: new Date(0).toISOString() })).entries).toEqual([])
  await log.close()
})

it.for([{ since: 'yesterday' }, { kinds: 'all' }, { object: 'a//b' }, { unknown: 'x' }])(
  'a search for %j is refused',
  (parameters) => {
    expect(() => parseSearch(parameters)).toThrow(CatalogError)
  },
)
