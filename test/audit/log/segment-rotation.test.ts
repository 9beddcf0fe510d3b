import { cp, readdir, readFile, readlink, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it, onTestFinished, vi } from 'vitest'
import { openAuditLog } from '../../../src/audit/log/audit-log.ts'
import { chainBounds } from '../../../src/audit/log/chain-writer.ts'
import { verifyAuditLog } from '../../../src/audit/verify/verify-audit-log.ts'
import { formatBytes } from '../../../src/lib/format.ts'
import {
  anIntent,
  committed,
  copyLog,
  logOptions,
  ofKind,
  openLog,
  recordsOf,
  segmentsOf,
  writeChanges,
} from '../audit-fixtures.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

it('a chain continues across segments without a gap', async () => {
  const { folder, log } = await openLog({ segmentBytes: 2_000 })
  await writeChanges(log, 50)
  await log.close()
  const files = await segmentsOf(folder)
  expect(files.length).toBeGreaterThan(10)
  expect(files.slice(0, 2)).toEqual([`${log.chain}-0000.jsonl`, `${log.chain}-0001.jsonl`])
  const records = await recordsOf(folder)
  expect(records.map(({ seq }) => seq)).toEqual(records.map((_, index) => index))
  expect(ofKind(records, 'intent')).toHaveLength(50)
  expect(ofKind(records, 'segment')).toHaveLength(files.length - 1)
  const report = await verifyAuditLog(folder)
  expect(report).toMatchObject({ ok: true, chains: 1, records: records.length, unresolved: 0 })
  expect(report.unsealed).toEqual({ records: 0 })

  const copy = await temporaryFolder()
  for (const file of files) {
    await cp(folder, copy, { recursive: true })
    await rm(join(copy, file))
    // The removal of the last segment of the last chain cannot be detected.
    expect((await verifyAuditLog(copy)).ok).toBe(file === files.at(-1))
  }
})

it('an intent without an outcome counts, also if its segment was removed', async () => {
  const { folder, log } = await openLog({ segmentBytes: 1_000 })
  await log.recordIntent(anIntent('open'))
  await writeChanges(log, 5)
  await log.close()
  for (const file of (await segmentsOf(folder)).slice(0, -1)) await rm(join(folder, file))
  expect(await verifyAuditLog(folder)).toMatchObject({ ok: false, unresolved: 1 })
})

it('a segment also ends by its age', async () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const { folder, log } = await openLog()
  for (const afterMs of [chainBounds.segmentMs - 1, 1, 1]) {
    vi.advanceTimersByTime(afterMs)
    await log.recordIntent(anIntent(`after ${afterMs}`))
  }
  expect(await segmentsOf(folder)).toEqual([0, 1].map((index) => `${log.chain}-000${index}.jsonl`))
  await log.close()
})

it.runIf(process.platform === 'linux')(
  'only the last segment is open, and none once the log is closed',
  async () => {
    const { folder, log } = await openLog({ segmentBytes: 2_000 })
    await writeChanges(log, 10)
    const openSegments = async () => {
      const files = await Promise.all(
        (await readdir('/proc/self/fd')).map((fd) => readlink(`/proc/self/fd/${fd}`).catch(String)),
      )
      return files.filter((file) => file.startsWith(folder) && file.endsWith('.jsonl')).length
    }
    expect(await openSegments()).toBe(1)
    await log.close()
    expect(await openSegments()).toBe(0)
  },
)

it('segments and seals end as the page on the audit log says', async () => {
  const { segmentBytes, segmentMs, sealRecords } = chainBounds
  const page = (await readFile('docs/audit.md', 'utf8')).replaceAll('\n', ' ')
  expect(page).toContain(`segments (an hour or ${formatBytes(segmentBytes)} each)`)
  expect(segmentMs).toBe(60 * 60 * 1000)
  expect(page).toContain(`${sealRecords.toLocaleString('en')} records, a seal`)
})

it('recovers from a crash with the last segment only', async () => {
  const { folder, log } = await openLog({ segmentBytes: 1_000 })
  const early = await log.recordIntent(anIntent('early'))
  const middle = await log.recordIntent(anIntent('middle'))
  await writeChanges(log, 10)
  await log.recordOutcome(middle, committed)
  const late = await log.recordIntent(anIntent('late'))
  const crashed = await copyLog(folder)
  await log.close()

  const files = await segmentsOf(crashed)
  // Recovery reads only the last segment, so it does not detect the damage of the first; verification does.
  await writeFile(join(crashed, files[0] ?? ''), 'not read')
  const next = await openAuditLog(logOptions(crashed))
  expect(next.recovery.repairs).toEqual([])
  expect(next.recovery.unresolved).toEqual([early, late])
  await next.close()
  expect((await verifyAuditLog(crashed)).problems).toMatchObject([{ file: files[0], line: 1 }])
})

it('recovers from a crash during a rotation with the previous segment', async () => {
  const { folder, log } = await openLog()
  const receipt = await log.recordIntent(anIntent('open'))
  const crashed = await copyLog(folder)
  await log.close()
  await writeFile(join(crashed, `${log.chain}-0001.jsonl`), '{"v":1,"kind":"segm')
  expect(await verifyAuditLog(crashed)).toMatchObject({ ok: true, unresolved: 1, tornTail: { bytes: 19 } })
  const next = await openAuditLog(logOptions(crashed))
  expect(next.recovery).toMatchObject({
    previous: { seq: 2 },
    unresolved: [receipt],
    repairs: [{ bytesCut: 19 }],
  })
  await next.close()
  expect(await verifyAuditLog(crashed)).toMatchObject({ ok: true, chains: 2, unresolved: 0 })
})
