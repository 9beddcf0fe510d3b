import { expect, it } from 'vitest'
import { openAuditLog, type AuditLog } from '../../src/audit/log/audit-log.ts'
import { createNewestChangesReader, type RecordedChange } from '../../src/console/newest-changes.ts'
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

const requests = (changes: readonly RecordedChange[]) => changes.map(({ requestId }) => requestId)

it('a change has the positions and hashes of its records in the log', async () => {
  const folder = await temporaryFolder()
  const log = await openLog(folder)
  const newest = createNewestChangesReader(folder, () => log.durableEnd())
  log.recordRefusal(aRefusal('refused'))
  const receipt = await log.recordIntent(anIntent('one'))
  expect((await newest()).changes).toMatchObject([
    { requestId: 'one', isCommit: true, id: 'production/orders' },
  ])
  expect((await newest()).changes[0]?.outcome).toBeUndefined()
  await log.recordOutcome(receipt, committed)
  await log.recordIntent({ ...anIntent('read'), operation: 'ListTables', effect: 'read' })
  const [change, ...others] = (await newest()).changes
  await log.close()
  expect(others).toEqual([])
  const records = await recordsOf(folder)
  const [intent] = ofKind(records, 'intent')
  const [outcome] = ofKind(records, 'outcome')
  expect(change).toMatchObject({
    rule: 'production/writers',
    principal: 'corp:alice',
    intent: { chain: log.chain, seq: intent?.seq, hash: intent?.hash },
    outcome: {
      result: 'committed',
      version: 7,
      seq: outcome?.seq,
      hash: outcome?.hash,
    },
  })
})

it('the newest 50 changes of all segments are shown', async () => {
  const folder = await temporaryFolder()
  const log = await openLog(folder, { segmentBytes: 64 * 1024 })
  const newest = createNewestChangesReader(folder, () => log.durableEnd())
  await writeChanges(log, 300)
  const { changes } = await newest()
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
  const { changes, seal } = await createNewestChangesReader(folder, () => log.durableEnd())()
  await log.close()
  expect(changes).toMatchObject([
    { requestId: 'broken off', outcome: { result: 'unknown' } },
    { requestId: 'done', outcome: { result: 'committed' } },
  ])
  expect(seal).toBeDefined()
})
