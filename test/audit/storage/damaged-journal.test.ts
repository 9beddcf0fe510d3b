import { cp, open, readdir, rename, rm, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, it } from 'vitest'
import type { AuditLogEvent } from '../../../src/audit/log/audit-log-event.ts'
import { journalCheckIntervalMs } from '../../../src/audit/log/chain-writer.ts'
import { journalName } from '../../../src/audit/storage/write-ahead-journal.ts'
import { openAuditLog } from '../../../src/audit/log/audit-log.ts'
import { verifyAuditLog } from '../../../src/audit/verify/verify-audit-log.ts'
import { anIntent, logOptions, ofKind, recordsOf, segmentsOf } from '../audit-fixtures.ts'
import { forge } from '../verify/forge-log.ts'
import { cutPower, losses, unsyncedPart } from './power-cut.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

/** Creates a folder as after a kill, with the requests one to five in the journal, and its segment. */
async function killedFolder(): Promise<{ folder: string; path: string; file: string }> {
  const [running, folder] = [await temporaryFolder(), await temporaryFolder()]
  const log = await openAuditLog(logOptions(running))
  for (const request of requests) await log.recordIntent(anIntent(request))
  await cp(running, folder, { recursive: true, filter: (path) => !path.endsWith('writer.lock') })
  await log.close()
  const [file = ''] = await segmentsOf(folder)
  return { folder, path: join(folder, file), file }
}

const requests = ['one', 'two', 'three', 'four', 'five']

async function restarted(folder: string) {
  const events: AuditLogEvent[] = []
  const log = await openAuditLog(logOptions(folder, { onEvent: (event) => events.push(event) }))
  await log.close()
  const records = await recordsOf(folder)
  const repairs = events.flatMap((event) => (event.kind === 'recovered' ? [event.repair] : []))
  expect(ofKind(records, 'recovered')).toMatchObject(repairs)
  const found = ofKind(records, 'intent').map(({ request }) => request)
  return { repairs, found, report: await verifyAuditLog(folder) }
}

async function changeByte(path: string, at: number): Promise<void> {
  const handle = await open(path, 'r+')
  const { buffer } = await handle.read(Buffer.alloc(1), 0, 1, at)
  await handle.write(Buffer.from([(buffer[0] ?? 0) ^ 1]), 0, 1, at)
  await handle.close()
}

it('reports records lost with a damaged journal, and restores those before them', async () => {
  const { folder, file } = await killedFolder()
  await cutPower(folder)
  // The third entry: each occupies one block.
  await changeByte(join(folder, journalName), 2 * 4_096 + 100)
  const { repairs, found, report } = await restarted(folder)
  const damage = 'records lost: the journal is damaged'
  expect(repairs).toMatchObject([
    { file, bytesRestored: expect.any(Number), damage },
    ...(repairs[1] ? [{}] : []),
  ])
  expect(found).toEqual(['one', 'two'])
  expect(report).toMatchObject({ ok: true, chains: 2 })
})

it('a damaged journal is harmless if nothing was lost', async () => {
  const { folder } = await killedFolder()
  await changeByte(join(folder, journalName), 2 * 4_096 + 100)
  expect(await restarted(folder)).toMatchObject({ repairs: [], found: requests, report: { ok: true } })
})

it('reports a missing segment', async () => {
  const { folder, path, file } = await killedFolder()
  await rm(path)
  const { repairs } = await restarted(folder)
  expect(repairs).toEqual([
    { file, bytesCut: 0, damage: 'the file is missing, but the journal has records of it' },
  ])
  const again = await openAuditLog(logOptions(folder))
  await again.close()
  expect(again.recovery.repairs).toEqual([])
})

it('reports a segment truncated below its synced length, and does not fill it with zeros', async () => {
  const { folder, path, file } = await killedFolder()
  await truncate(path, 100)
  const [repair] = (await restarted(folder)).repairs
  expect(repair).toMatchObject({
    file,
    damage: expect.stringMatching(/^the journal does not continue the file: /),
  })
})

it('restores and reports changes in the unsynced part', async () => {
  const { folder, path } = await killedFolder()
  const part = await unsyncedPart(folder)
  await changeByte(path, (part?.from ?? 0) + 300)
  const { repairs, found, report } = await restarted(folder)
  expect(repairs).toMatchObject([{ bytesRestored: 1 }])
  expect([found, report.ok]).toEqual([requests, true])
})

it('retains changes in the synced part as evidence, and appends nothing', async () => {
  const { folder, path } = await killedFolder()
  await changeByte(path, ((await unsyncedPart(folder))?.from ?? 0) - 100)
  const { repairs, report } = await restarted(folder)
  expect(repairs[0]?.damage).toMatch(/^the journal does not continue the file: the hash does not match/)
  expect(report).toMatchObject({ ok: false, problem: { line: 2 } })
})

it('ignores the journal of another log', async () => {
  const [{ folder }, other] = [await killedFolder(), await killedFolder()]
  await cp(join(other.folder, journalName), join(folder, journalName))
  const { repairs, found, report } = await restarted(folder)
  expect(repairs).toMatchObject([{ file: other.file, damage: expect.stringMatching(/^the file is missing/) }])
  expect([found, report.ok]).toEqual([requests, true])
})

it('ignores a journal with lines that do not continue the chain', async () => {
  const { folder, path } = await killedFolder()
  const part = await unsyncedPart(folder)
  await forge(path, (all) => all.map((line) => line.replace('gateway-0', 'gateway-9')))
  if (part) await losses['is gone'](part, part.from)
  const { repairs, found } = await restarted(folder)
  expect(repairs[0]?.damage).toMatch(/prev is not the hash of the record before it$/)
  expect(found).toEqual([])
})

it.each(['{"v":1}\n', '\u0001CGJ9', '\u0001CGJ1', '', '\0'.repeat(10_000), '\u0001CGJ1'.repeat(100_000)])(
  'starts with any content of the file (%#)',
  async (content) => {
    const { folder } = await killedFolder()
    await writeFile(join(folder, journalName), content)
    const { repairs, found, report } = await restarted(folder)
    const isOurs = content === '' || /^\0|CGJ1/.test(content)
    const damage = 'not a journal of format version 1'
    expect(repairs).toEqual(isOurs ? [] : [{ file: journalName, bytesCut: 0, damage }])
    expect([found, report.ok]).toEqual([requests, true])
  },
)

it.each([
  ['removed', true, (path: string) => rm(path)],
  ['resized', true, (path: string) => truncate(path, 4_096)],
  // The file may belong to another writer: then there is no journal.
  ['replaced', false, (path: string) => cp(path, `${path}.1`).then(() => rename(`${path}.1`, path))],
] as const)('loses no record if the journal of a running log is %s', async (problem, restored, tamper) => {
  const [folder, killed] = [await temporaryFolder(), await temporaryFolder()]
  const events: AuditLogEvent[] = []
  const log = await openAuditLog(logOptions(folder, { onEvent: (event) => events.push(event) }))
  await log.recordIntent(anIntent('before'))
  await tamper(join(folder, journalName))
  // The next record checks the file again.
  await pause(journalCheckIntervalMs + 1)
  await log.recordIntent(anIntent('after'))
  expect(events).toContainEqual({ kind: 'tampered', file: journalName, tampering: problem })
  await log.recordIntent(anIntent('later'))
  const written = await recordsOf(folder)
  await cp(folder, killed, { recursive: true, filter: (path) => !path.endsWith('writer.lock') })
  await log.close()

  expect(ofKind(written, 'tampered')).toMatchObject([{ file: journalName, what: problem, restored }])
  if (restored) await cutPower(killed)
  const { found, report } = await restarted(killed)
  expect(found).toEqual(['before', 'after', 'later'])
  expect(report).toMatchObject({ ok: true, chains: 2 })
})

it('a clean shutdown leaves no journal', async () => {
  const folder = await temporaryFolder()
  const log = await openAuditLog(logOptions(folder))
  await log.recordIntent(anIntent('one'))
  expect(await readdir(folder)).toContain(journalName)
  await log.close()
  expect(await readdir(folder)).not.toContain(journalName)
})
