import { copyFile, readFile, rename, rm, stat, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import type { Retention } from '../../../src/audit/log/retention.ts'
import { openAuditLog } from '../../../src/audit/log/audit-log.ts'
import { verifyAuditLog } from '../../../src/audit/verify/verify-audit-log.ts'
import {
  anIntent,
  committed,
  logOptions,
  ofKind,
  recordsOf,
  segmentsOf,
  writeChanges,
} from '../audit-fixtures.ts'
import { forge, keyOf } from '../verify/forge-log.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { eventually } from '../../support/eventually.ts'

/** Opens a log with several segments of 4,000 bytes, oldest first. */
async function segmentedLog(retention?: Retention, folder?: string) {
  const where = folder ?? (await temporaryFolder())
  const log = await openAuditLog(logOptions(where, { segmentBytes: 4_000, ...(retention && { retention }) }))
  await writeChanges(log, 20)
  return { folder: where, log }
}

async function sizeOf(folder: string): Promise<number> {
  const sizes = (await segmentsOf(folder)).map(async (file) => (await stat(join(folder, file))).size)
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0)
}

it('removes the oldest segments of a log that is too large; the rest still verifies', async () => {
  const { folder, log } = await segmentedLog({ maxBytes: 12_000 })
  await writeChanges(log, 20)
  await eventually(async () => expect(await sizeOf(folder)).toBeLessThan(20_000))
  await log.close()
  const keys = [await keyOf(folder)]
  const report = await verifyAuditLog(folder, keys)
  expect(report).toMatchObject({ ok: true, unresolved: 0, pruned: { chain: log.chain } })
  expect((await segmentsOf(folder))[0]).not.toMatch(/-0000\.jsonl$/)

  // The checkpoint itself is pruned later, and so is a whole chain.
  const next = await segmentedLog({ maxBytes: 12_000 }, folder)
  await eventually(async () =>
    expect((await segmentsOf(folder)).filter((file) => file.startsWith(log.chain))).toEqual([]),
  )
  await next.log.close()
  expect(await verifyAuditLog(folder, keys)).toMatchObject({ ok: true })
})

it('removes only expired segments at the next start', async () => {
  const { folder, log } = await segmentedLog()
  await log.close()
  const files = await segmentsOf(folder)
  const longAgo = Date.now() / 1_000 - 100_000
  for (const file of files.slice(0, 2)) await utimes(join(folder, file), longAgo, longAgo)
  const again = await openAuditLog(logOptions(folder, { retention: { maxAgeMs: 50_000_000 } }))
  await eventually(async () => expect(await segmentsOf(folder)).not.toContain(files[1]))
  await again.close()
  expect((await segmentsOf(folder)).slice(0, -1)).toEqual(files.slice(2))
  expect(ofKind(await recordsOf(folder), 'pruned')).toMatchObject([{ files: files.slice(0, 2) }])
  expect(await verifyAuditLog(folder, [await keyOf(folder)])).toMatchObject({ ok: true, chains: 2 })
})

it('retains segments that are still read or contain an unresolved intent', async () => {
  const { folder, log } = await segmentedLog()
  await log.close()
  const files = await segmentsOf(folder)
  const needed = files[1]
  const again = await openAuditLog(
    logOptions(folder, {
      retention: { maxBytes: 1, oldestNeededSegment: () => needed },
      segmentBytes: 4_000,
    }),
  )
  await again.recordIntent(anIntent('open'))
  await eventually(async () => expect((await segmentsOf(folder))[0]).toBe(needed))
  await again.close()

  const third = await openAuditLog(logOptions(folder, { retention: { maxBytes: 1 }, segmentBytes: 4_000 }))
  const open = await third.recordIntent(anIntent('open'))
  await writeChanges(third, 30)
  await eventually(async () => expect((await segmentsOf(folder))[0]).toBe(`${third.chain}-0000.jsonl`))
  await third.recordOutcome(open, committed)
  await third.close()
  expect((await verifyAuditLog(folder)).ok).toBe(true)
})

it('retains the newer segments if the oldest one that is still read is missing', async () => {
  const { folder, log } = await segmentedLog()
  await log.close()
  const [missing = '', ...newer] = await segmentsOf(folder)
  await rm(join(folder, missing))
  const retention: Retention = { maxBytes: 1, oldestNeededSegment: () => missing }
  const again = await segmentedLog(retention, folder)
  await again.log.close()
  expect((await segmentsOf(folder)).slice(0, newer.length)).toEqual(newer)
})

it('retains in-doubt intents, and removes nothing before they are known', async () => {
  const { folder, log } = await segmentedLog()
  const { seq } = await log.recordIntent(anIntent('lost'))
  await log.close()
  const files = await segmentsOf(folder)
  const texts = await Promise.all(files.map((file) => readFile(join(folder, file), 'utf8')))
  const holding = files[texts.findIndex((text) => text.includes('"lost"'))]
  let inDoubt: { chain: string; seq: number }[] | undefined
  const retention: Retention = { maxBytes: 1, inDoubtIntents: () => inDoubt }
  const again = await openAuditLog(logOptions(folder, { retention, segmentBytes: 4_000 }))
  await writeChanges(again, 10)
  expect((await segmentsOf(folder)).slice(0, files.length)).toEqual(files)

  inDoubt = [{ chain: log.chain, seq }]
  again.prune()
  await eventually(async () => expect((await segmentsOf(folder))[0]).toBe(holding))
  await writeChanges(again, 10)
  expect((await segmentsOf(folder))[0]).toBe(holding)

  inDoubt = []
  again.prune()
  await eventually(async () => expect((await segmentsOf(folder))[0]).toContain(again.chain))
  await again.close()
  expect((await verifyAuditLog(folder)).ok).toBe(true)
})

it('verification accepts a removal that a crash has interrupted', async () => {
  const { folder, log } = await segmentedLog()
  await log.close()
  const [first = '', second = '', third = '', fourth = ''] = await segmentsOf(folder)
  const copies = await temporaryFolder()
  for (const file of [first, second]) await copyFile(join(folder, file), join(copies, file))
  const next = await segmentedLog({ maxBytes: 1, oldestNeededSegment: () => third }, folder)
  await next.log.close()
  expect((await segmentsOf(folder))[0]).toBe(third)
  const keys = [await keyOf(folder)]

  await copyFile(join(copies, second), join(folder, second))
  expect(await verifyAuditLog(folder, keys)).toMatchObject({ ok: true, pruned: { chain: log.chain } })
  await copyFile(join(copies, first), join(folder, first))
  expect(await verifyAuditLog(folder, keys)).toMatchObject({ ok: true })
  await rm(join(folder, second))
  expect(await verifyAuditLog(folder, keys)).toMatchObject({ ok: false, problems: [{ file: third }] })
  await rm(join(folder, first))
  await rm(join(folder, third))
  expect(await verifyAuditLog(folder, keys)).toMatchObject({ ok: false, problems: [{ file: fourth }] })
})

it('verification accepts an interrupted removal of a chain and a part of the next one', async () => {
  const { folder, log } = await segmentedLog()
  await log.close()
  const second = await segmentedLog(undefined, folder)
  await second.log.close()
  const files = await segmentsOf(folder)
  const needed = files.findLast((file) => file.startsWith(second.log.chain)) ?? ''
  const copies = await temporaryFolder()
  const remaining = files.slice(1, files.indexOf(needed))
  for (const file of remaining) await copyFile(join(folder, file), join(copies, file))
  const next = await segmentedLog({ maxBytes: 1, oldestNeededSegment: () => needed }, folder)
  await next.log.close()
  expect((await segmentsOf(folder))[0]).toBe(needed)
  const keys = [await keyOf(folder)]
  for (const file of remaining) await copyFile(join(copies, file), join(folder, file))
  expect(await verifyAuditLog(folder, keys)).toMatchObject({ ok: true, pruned: { chain: log.chain } })

  for (const file of remaining) await rm(join(folder, file))
  expect((await verifyAuditLog(folder, keys)).ok).toBe(true)
  const renamed = needed.replace(second.log.chain, log.chain)
  await rename(join(folder, needed), join(folder, renamed))
  expect((await verifyAuditLog(folder, keys)).problems[0]).toMatchObject({ file: renamed, line: 1 })
})

it('verification detects a record that was added to the oldest segment', async () => {
  const { folder, log } = await segmentedLog()
  await log.close()
  const [first = '', second = ''] = await segmentsOf(folder)
  await rm(join(folder, first))
  await forge(join(folder, second), ([head = '', next = '', ...lines]) => [head, next, next, ...lines])
  const what = 'the seal does not match the records before it'
  expect((await verifyAuditLog(folder)).problems[0]).toMatchObject({ file: second, what })
})

it('verification rejects an unsigned checkpoint', async () => {
  const { folder, log } = await segmentedLog()
  await log.close()
  const [first = '', second = '', ...others] = await segmentsOf(folder)
  const [retained] = (await readFile(join(folder, second), 'utf8')).split('\n')
  const { chain, seq, prev } = JSON.parse(retained ?? '') as { chain: string; seq: number; prev: string }
  await rm(join(folder, first))
  await forge(join(folder, others.at(-1) ?? ''), (lines) => {
    const head = `"chain":"${chain}","seq":0,"time":"${new Date().toISOString()}","prev":"00"`
    const through = JSON.stringify({ chain, seq: seq - 1, hash: prev })
    return [...lines, `{"v":1,"kind":"pruned",${head},"through":${through},"files":["${first}"],"hash":"00"}`]
  })
  expect((await verifyAuditLog(folder)).ok).toBe(true)
  const [problem] = (await verifyAuditLog(folder, [await keyOf(folder)])).problems
  expect(problem).toMatchObject({ what: expect.stringMatching(/no signed record says that it was removed/) })
})
