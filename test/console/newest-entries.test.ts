import { expect, it } from 'vitest'
import { openAuditLog, type AuditLog } from '../../src/audit/log/audit-log.ts'
import type { AuditEntry } from '../../src/console/audit-entries.ts'
import { createNewestEntriesReader, parseSearch, searchEntries } from '../../src/console/select-entries.ts'
import { CatalogError } from '../../src/catalog-api/catalog-error.ts'
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

const factOf = ({ facts }: AuditEntry, term: string) => facts.find(([name]) => name === term)?.[1]
const requests = (entries: readonly AuditEntry[]) => entries.map((entry) => factOf(entry, 'Request'))
const states = (entries: readonly AuditEntry[]) =>
  entries.map((entry) => `${factOf(entry, 'Request')}: ${entry.state}`)

it('changes and refusals have their records, and reads are left out', async () => {
  const folder = await temporaryFolder()
  const log = await openLog(folder)
  const newest = createNewestEntriesReader(folder, () => log.durableEnd().file)
  log.recordRefusal(aRefusal('refused', { needs: 'DropTable on "production$orders"' }))
  const receipt = await log.recordIntent(anIntent('one'))
  const { entries } = await newest()
  expect(states(entries)).toEqual(['one: in progress', 'refused: 403 no_rule'])
  expect(entries[0]?.id).toBe('production/orders')
  await log.recordOutcome(receipt, committed)
  await log.recordIntent({ ...anIntent('read'), operation: 'ListTables', effect: 'read' })
  const [change, refused, ...others] = (await newest()).entries
  await log.close()
  expect(others).toEqual([])
  const records = await recordsOf(folder)
  const position = (kind: 'intent' | 'outcome') => {
    const [{ seq, hash } = { seq: -1, hash: '' }] = ofKind(records, kind)
    return `record ${seq} of ${log.chain}, hash ${hash.slice(0, 12)}`
  }
  expect(change).toMatchObject({
    notes: ['version 7'],
    state: 'committed',
    isGood: true,
    principal: 'corp:alice',
    summary: expect.stringMatching(/^allowed by production\/writers \(/) as string,
    facts: expect.arrayContaining([
      ['Record', position('intent')],
      ['Outcome', expect.stringMatching(`^committed.*, ${position('outcome')}$`)],
    ]) as unknown,
  })
  expect(refused).toMatchObject({
    summary: 'no rule allows it',
    facts: expect.arrayContaining([['Needs', 'DropTable on "production$orders"']]) as unknown,
  })
})

it('the newest 50 changes of all segments are shown', async () => {
  const folder = await temporaryFolder()
  const log = await openLog(folder, { segmentBytes: 64 * 1024 })
  const newest = createNewestEntriesReader(folder, () => log.durableEnd().file)
  await writeChanges(log, 300)
  const { entries: changes } = await newest()
  expect(requests(changes)).toEqual(Array.from({ length: 50 }, (_, index) => `${299 - index}`))
  expect(changes.every(({ state }) => state === 'committed')).toBe(true)
  await log.close()
})

it('after a start, earlier changes are shown with their outcomes', async () => {
  const folder = await temporaryFolder()
  const before = await openLog(folder)
  await before.recordOutcome(await before.recordIntent(anIntent('done')), committed)
  await before.recordIntent(anIntent('broken off'))
  await before.close()
  const log = await openLog(folder)
  const { entries, seal } = await createNewestEntriesReader(folder, () => log.durableEnd().file)()
  await log.close()
  expect(states(entries)).toEqual(['broken off: unknown', 'done: committed'])
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
  expect(found.isComplete).toBe(true)
  expect(states(found.entries)).toEqual(['early: committed'])
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
