import { setImmediate as yieldToEventLoop } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { openAuditLog } from '../../../src/audit/log/audit-log.ts'
import { verifyAuditLog } from '../../../src/audit/verify/verify-audit-log.ts'
import { aRefusal, anIntent, committed, logOptions, ofKind, openLog, recordsOf } from '../audit-fixtures.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { eventually } from '../../support/eventually.ts'

it('a thousand concurrent intents share a few flushes, and all are durable', async () => {
  const folder = await temporaryFolder()
  let flushes = 0
  let flushed = 0
  const observer = {
    flushed(records: number) {
      flushes += 1
      flushed += records
    },
  }
  const log = await openAuditLog(logOptions(folder, { observer }))
  const requests = Array.from({ length: 1_000 }, (_, index) => `request-${index}`)
  const receipts = await Promise.all(requests.map((request) => log.recordIntent(anIntent(request))))
  expect(log.status()).toMatchObject({ writable: true, queued: 0, unresolved: 1_000 })
  expect(receipts.map(({ seq }) => seq)).toEqual(requests.map((_, index) => index + 2))
  await Promise.all(receipts.map((receipt) => log.recordOutcome(receipt, committed)))
  expect(log.status().unresolved).toBe(0)
  expect(flushes).toBeLessThan(20)
  expect(flushed).toBe(2_000)
  await log.close()

  const records = await recordsOf(folder)
  expect(records.map(({ seq }) => seq)).toEqual(records.map((_, index) => index))
  expect(ofKind(records, 'intent').map(({ request }) => request)).toEqual(requests)
  expect(ofKind(records, 'outcome').map(({ intentSeq }) => intentSeq)).toEqual(receipts.map(({ seq }) => seq))
  expect(await verifyAuditLog(folder)).toMatchObject({
    ok: true,
    chains: 1,
    records: records.length,
    unresolved: 0,
  })
})

it('stores records in the order of the calls', async () => {
  const { folder, log } = await openLog()
  log.recordReload({ what: 'policies', revision: 'r2' })
  const intent = log.recordIntent(anIntent('a'))
  log.recordRefusal(aRefusal('b'))
  await intent
  await log.close()
  const kinds = (await recordsOf(folder)).map(({ kind }) => kind)
  expect(kinds).toEqual(['start', 'seal', 'reload', 'intent', 'refusal', 'seal'])
})

it('close writes the queue and rejects further records', async () => {
  const { folder, log } = await openLog()
  const waiting = log.recordIntent(anIntent('a'))
  log.recordRefusal(aRefusal('b'))
  const closed = log.close()
  await expect(log.recordIntent(anIntent('c'))).rejects.toMatchObject({ reason: 'audit_closed', status: 503 })
  await closed
  await log.close()
  await waiting
  const kinds = (await recordsOf(folder)).map(({ kind }) => kind)
  expect(kinds.filter((kind) => kind !== 'gap')).toEqual(['start', 'seal', 'intent', 'refusal', 'seal'])
  expect(log.status().writable).toBe(false)
})

it('an asynchronous record waits for a shared write, and is flushed without one', async () => {
  const folder = await temporaryFolder()
  let flushes = 0
  const observer = { flushed: () => (flushes += 1) }
  const log = await openAuditLog(logOptions(folder, { observer }))
  let stayed = 0
  // On a busy machine, an event loop iteration may take longer than the flush interval.
  for (let round = 1; round <= 10; round += 1) {
    log.recordRefusal(aRefusal('alone'))
    for (let iteration = 0; iteration < 3; iteration += 1) await yieldToEventLoop()
    stayed += log.status().queued
    await eventually(() => expect(flushes).toBe(round))
  }
  expect(stayed).toBeGreaterThan(0)
  expect(ofKind(await recordsOf(folder), 'refusal')).toHaveLength(10)
  await log.close()
})

it('an asynchronous record joins the next synchronous write', async () => {
  const folder = await temporaryFolder()
  const groups: number[] = []
  const observer = { flushed: (records: number) => groups.push(records) }
  const log = await openAuditLog(logOptions(folder, { observer }))
  log.recordRefusal(aRefusal('a'))
  await log.recordIntent(anIntent('b'))
  expect(groups).toEqual([2])
  await log.close()
})

it('close writes the outcome of an asynchronous change', async () => {
  const { folder, log } = await openLog()
  const ended = log
    .recordIntent(anIntent('a'), false)
    .then((receipt) => log.recordOutcome(receipt, committed, false))
  await log.close()
  await ended
  const kinds = (await recordsOf(folder)).map(({ kind }) => kind)
  expect(kinds).toEqual(['start', 'seal', 'intent', 'outcome', 'seal'])
})
