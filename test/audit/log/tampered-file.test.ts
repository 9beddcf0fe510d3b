import { appendFile, readFile, rename, rm, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, it, onTestFinished, vi } from 'vitest'
import { fileCheckIntervalMs } from '../../../src/audit/log/chain-writer.ts'
import { openAuditLog } from '../../../src/audit/log/audit-log.ts'
import { verifyAuditLog } from '../../../src/audit/verify/verify-audit-log.ts'
import { anIntent, logOptions, ofKind, openLog, recordsOf, segmentsOf } from '../audit-fixtures.ts'
import { keyOf } from '../verify/forge-log.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

/** Modifies the file of an open log, appends two intents, and returns the log. */
async function tamperedLog(tamper: (path: string) => Promise<unknown>) {
  vi.useFakeTimers({ toFake: ['performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const folder = await temporaryFolder()
  const events: unknown[] = []
  const observer = { tampered: (...event: unknown[]) => events.push(event) }
  const log = await openAuditLog(logOptions(folder, { observer }))
  await log.recordIntent(anIntent('before'))
  const [file = ''] = await segmentsOf(folder)
  await tamper(join(folder, file))
  // The next record checks the file again.
  vi.advanceTimersByTime(fileCheckIntervalMs)
  await log.recordIntent(anIntent('after'))
  await log.recordIntent(anIntent('later'))
  await log.close()
  expect(events).toHaveLength(1)
  expect(log.status().tampered).toBe(1)
  const records = await recordsOf(folder)
  return { file, records, report: await verifyAuditLog(folder, [await keyOf(folder)]) }
}

const requests = (records: Parameters<typeof ofKind>[0]) =>
  ofKind(records, 'intent').map(({ request }) => request)

it.each([
  ['deleted', 'removed', (path: string) => rm(path)],
  ['moved away, as by log rotation', 'removed', (path: string) => rename(path, `${path}.1`)],
  ['replaced', 'replaced', forge],
  ['cut', 'resized', (path: string) => truncate(path, 100)],
  ['continued', 'resized', (path: string) => appendFile(path, '{"v":1}\n')],
])('if the file was %s, continues in a new file, and verification names it', async (_, what, tamper) => {
  const { file, records, report } = await tamperedLog(tamper)
  expect(ofKind(records, 'tampered')).toMatchObject([{ file, what }])
  expect(requests(records).slice(-2)).toEqual(['after', 'later'])
  expect(report.ok).toBe(false)
})

async function forge(path: string): Promise<void> {
  await writeFile(`${path}.other`, (await readFile(path, 'utf8')).replace('before', 'forged'))
  await rename(`${path}.other`, path)
}

it('is checked once in an interval', async () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const { folder, log } = await openLog()
  await log.recordIntent(anIntent('before'))
  const [file = ''] = await segmentsOf(folder)
  await rm(join(folder, file))
  for (const [afterMs, tampered] of [
    [fileCheckIntervalMs - 1, 0],
    [1, 1],
  ] as const) {
    vi.advanceTimersByTime(afterMs)
    await log.recordIntent(anIntent('after'))
    expect(log.status().tampered).toBe(tampered)
  }
  await log.close()
})

it('refuses records as long as no file can be created', async () => {
  const { folder, log } = await openLog()
  await rename(folder, `${folder}.away`)
  await pause(fileCheckIntervalMs + 1)
  for (const request of ['one', 'two']) await expect(log.recordIntent(anIntent(request))).rejects.toThrow()
  await rename(`${folder}.away`, folder)
  await log.recordIntent(anIntent('three'))
  await log.close()
  expect(requests(await recordsOf(folder))).toEqual(['three'])
})

it('records right after a truncation do not hide it', async () => {
  const folder = await temporaryFolder()
  const events: unknown[] = []
  const observer = { tampered: (...event: unknown[]) => events.push(event) }
  const log = await openAuditLog(logOptions(folder, { observer }))
  const [file = ''] = await segmentsOf(folder)
  await log.recordIntent(anIntent('before'))
  await truncate(join(folder, file), 100)
  await Promise.all([log.recordIntent(anIntent('at once')), log.recordIntent(anIntent('too'))])
  await log.close()
  expect(events).toContainEqual([file, 'resized'])
  expect(await verifyAuditLog(folder)).toMatchObject({ ok: false, problems: [{ file }] })
})
