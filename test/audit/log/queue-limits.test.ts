import { expect, it } from 'vitest'
import { openAuditLog } from '../../../src/audit/log/audit-log.ts'
import { verifyAuditLog } from '../../../src/audit/verify/verify-audit-log.ts'
import { aRefusal, anIntent, committed, logOptions, ofKind, openLog, recordsOf } from '../audit-fixtures.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

it('rejects an intent if the queue is full, and counts it in a gap record', async () => {
  const { folder, log } = await openLog({ queueRecords: 10 })
  const resolved = Promise.allSettled(
    Array.from({ length: 13 }, (_, n) => log.recordIntent(anIntent(`${n}`))),
  )
  expect(log.status()).toMatchObject({ writable: false, queued: 10 })
  const results = await resolved
  expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(10)
  for (const result of results.slice(10)) {
    expect(result).toMatchObject({
      status: 'rejected',
      reason: { reason: 'audit_queue_full', kind: 'ServiceUnavailable', status: 503 },
    })
  }
  await log.close()
  const records = await recordsOf(folder)
  expect(ofKind(records, 'gap')).toMatchObject([{ refused: 3, dropped: 0 }])
  expect(ofKind(records, 'intent')).toHaveLength(10)
  expect((await verifyAuditLog(folder)).ok).toBe(true)
})

it('bounds the queue in bytes', async () => {
  const { log } = await openLog({ queueBytes: 10_000 })
  const large = { note: 'x'.repeat(6_000) }
  const intents = ['a', 'b', 'c'].map((request) => log.recordIntent(anIntent(request, large)))
  const results = await Promise.allSettled(intents)
  expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected'])
  await log.close()
})

it('reserves half of the queue for changes, and counts dropped refusals', async () => {
  const folder = await temporaryFolder()
  let dropped = 0
  const observer = { dropped: () => (dropped += 1) }
  const log = await openAuditLog(logOptions(folder, { queueRecords: 10, observer }))
  for (let n = 0; n < 100; n += 1) log.recordRefusal(aRefusal(`${n}`))
  const intents = Array.from({ length: 5 }, (_, n) => log.recordIntent(anIntent(`${n}`)))
  expect(await Promise.all(intents)).toHaveLength(5)
  expect(dropped).toBe(95)
  expect(log.status().dropped).toBe(95)
  await log.close()
  const records = await recordsOf(folder)
  expect(ofKind(records, 'refusal')).toHaveLength(5)
  expect(ofKind(records, 'gap')).toMatchObject([{ dropped: 95, refused: 0 }])
})

it('never rejects an outcome for a full queue', async () => {
  const { log } = await openLog({ queueRecords: 2 })
  const receipt = await log.recordIntent(anIntent('a'))
  const others = Promise.allSettled(['b', 'c', 'd'].map((request) => log.recordIntent(anIntent(request))))
  await log.recordOutcome(receipt, committed)
  expect((await others).map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected'])
  await log.close()
})
