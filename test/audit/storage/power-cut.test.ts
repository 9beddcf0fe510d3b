import { cp, readFile, stat, truncate, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { expect, it } from 'vitest'
import { journalName } from '../../../src/audit/storage/write-ahead-journal.ts'
import { openAuditLog, type AuditLog } from '../../../src/audit/log/audit-log.ts'
import { recoverFolder } from '../../../src/audit/log/recovery.ts'
import { verifyAuditLog } from '../../../src/audit/verify/verify-audit-log.ts'
import { isThorough } from '../../support/thorough.ts'
import { anIntent, logOptions, ofKind, recordsOf, segmentsOf } from '../audit-fixtures.ts'
import { keyOf } from '../verify/forge-log.ts'
import { killedWriter } from '../log/killed-writer.ts'
import { cutPower, losses, unsyncedPart, type Unsynced } from './power-cut.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

/** Sixteen of these exceed the journal. */
const large = { note: 'x'.repeat(65_000) }

const moments: Record<string, (log: AuditLog) => Promise<unknown>> = {
  'the journal is empty': async () => undefined,
  'the journal has one entry': (log) => log.recordIntent(anIntent('one')),
  'the journal is half full': (log) => append(log, 8),
  'the journal is full': (log) => append(log, 15),
  'the segment was just synced, as the journal was full': (log) => append(log, 16),
  'the journal has one entry of the next generation': (log) => append(log, 17),
  'the journal is in its third generation': (log) => append(log, 40),
}

async function append(log: AuditLog, count: number): Promise<void> {
  for (let n = 0; n < count; n += 1) await log.recordIntent(anIntent(`${n}`, large))
}

/** Returns the state after a kill at that moment: all written data, in memory and on disk. */
async function killedAt(moment: (log: AuditLog) => Promise<unknown>): Promise<string> {
  const [running, folder] = [await temporaryFolder(), await temporaryFolder()]
  const log = await openAuditLog(logOptions(running))
  await moment(log)
  await cp(running, folder, { recursive: true, filter: (path) => !path.endsWith('writer.lock') })
  await log.close()
  return folder
}

const hashesOf = async (folder: string) => (await recordsOf(folder)).map(({ hash }) => hash)

async function restarted(folder: string) {
  const log = await openAuditLog(logOptions(folder))
  await log.close()
  const recovered = ofKind(await recordsOf(folder), 'recovered')
  return { recovered, report: await verifyAuditLog(folder, { keys: [await keyOf(folder)] }) }
}

function locationsIn({ from, to }: Unsynced): number[] {
  const count = isThorough ? 25 : 2
  return Array.from(
    { length: count },
    (_, index) => from + Math.floor(((to - from - 1) * index) / (count - 1)),
  )
}

it('a kill loses nothing and needs no repair', async () => {
  const folder = await killedAt((log) => append(log, 20))
  const whole = await hashesOf(folder)
  const { recovered, report } = await restarted(folder)
  expect((await hashesOf(folder)).slice(0, whole.length)).toEqual(whole)
  expect(recovered).toEqual([])
  expect(report).toMatchObject({ ok: true, chains: 2, unresolved: 0 })
})

it.each(Object.entries(moments))('loses no record in a power failure while %s', async (_, moment) => {
  const folder = await killedAt(moment)
  const whole = await hashesOf(folder)
  const part = await unsyncedPart(folder)
  for (const [name, lose] of Object.entries(losses)) {
    // Data after the part was synced when the journal was full.
    if (part === undefined || (name === 'is gone' && (await stat(part.path)).size > part.to)) continue
    for (const at of locationsIn(part)) {
      const cut = await temporaryFolder()
      await cp(folder, cut, { recursive: true })
      await lose({ ...part, path: join(cut, basename(part.path)) }, at)
      const isWhole = (await readFile(join(cut, basename(part.path)))).equals(await readFile(part.path))
      const { recovered, report } = await restarted(cut)
      expect((await hashesOf(cut)).slice(0, whole.length)).toEqual(whole)
      const bytesRestored = expect.any(Number)
      const repair = { file: basename(part.path), bytesCut: 0, bytesRestored }
      expect(recovered).toMatchObject(isWhole ? [] : [repair])
      expect(report).toMatchObject({ ok: true, chains: 2, unresolved: 0 })
    }
  }
  expect(part === undefined).toBe(moment === moments['the journal is empty'])
})

it.each([
  ['behind others', 3],
  ['as the first of a generation', 16],
])('a journal write interrupted %s affects no other record', async (_, before) => {
  const [running, folder] = [await temporaryFolder(), await temporaryFolder()]
  const log = await openAuditLog(logOptions(running))
  await append(log, before)
  const whole = await hashesOf(running)
  const was = await readFile(join(running, journalName))
  await log.recordIntent(anIntent('cut off', { note: 'x'.repeat(9_000) }))
  const is = await readFile(join(running, journalName))
  const begin = is.findIndex((byte, at) => byte !== was[at])
  await cp(running, folder, { recursive: true, filter: (path) => !path.endsWith('writer.lock') })
  await log.close()
  const last = (await unsyncedPart(folder))?.to ?? 0
  const [file = ''] = await segmentsOf(folder)
  const size = (await readFile(join(folder, file))).lastIndexOf(10, last - 2) + 1
  for (let at = 0; at < 9_000; at += isThorough ? 89 : 1_700) {
    const cut = await temporaryFolder()
    await cp(folder, cut, { recursive: true })
    await truncate(join(cut, file), size)
    const torn = [is.subarray(0, begin + at), was.subarray(begin + at)]
    await writeFile(join(cut, journalName), Buffer.concat(torn))
    const { recovered, report } = await restarted(cut)
    expect((await hashesOf(cut)).slice(0, whole.length)).toEqual(whole)
    expect(ofKind(await recordsOf(cut), 'intent')).toHaveLength(before)
    expect(recovered).toEqual([])
    expect(report).toMatchObject({ ok: true, chains: 2, unresolved: 0 })
  }
})

it('an interrupted restart can be repeated', async () => {
  const folder = await killedAt((log) => append(log, 3))
  const whole = await hashesOf(folder)
  const part = await unsyncedPart(folder)
  for (let round = 0; round < 2; round += 1) {
    if (part) await losses['is gone'](part, part.from + round)
    expect((await recoverFolder(folder)).repairs).toMatchObject([
      { bytesRestored: part && part.to - part.from - round },
    ])
  }
  expect(await hashesOf(folder)).toEqual(whole)
})

it('records reported by a killed writer survive a power failure', async () => {
  const folder = await temporaryFolder()
  const printed: string[] = []
  const rounds = isThorough ? 20 : 2
  for (let round = 0; round < rounds; round += 1) {
    printed.push(...(await killedWriter(folder, { segmentBytes: 10_000_000 })))
    await cutPower(folder)
  }
  const { report } = await restarted(folder)
  const intents = ofKind(await recordsOf(folder), 'intent').map(({ chain, seq }) => `${chain} ${seq}`)
  const durable = new Set(intents)
  expect(printed.filter((intent) => !durable.has(intent))).toEqual([])
  expect(report).toMatchObject({ ok: true, chains: rounds + 1, unresolved: 0 })
})
