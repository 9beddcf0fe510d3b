import { cp, readFile, rm, truncate, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { expect, it } from 'vitest'
import { journalName } from '../../../src/audit/storage/write-ahead-journal.ts'
import { openAuditLog } from '../../../src/audit/log/audit-log.ts'
import { readAuditLog } from '../../../src/audit/storage/read-audit-log.ts'
import { verifyAuditLog } from '../../../src/audit/verify/verify-audit-log.ts'
import { runCommand } from '../../support/run-command.ts'
import { anIntent, committed, logOptions } from '../audit-fixtures.ts'
import { losses, unsyncedPart, type Unsynced } from './power-cut.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const requests = ['one', 'two', 'three']

/** Copies the folder of an active log, and returns the unsynced part of its segment. */
async function copied(): Promise<{ folder: string; part: Unsynced; whole: string }> {
  const [running, folder] = [await temporaryFolder(), await temporaryFolder()]
  const log = await openAuditLog(logOptions(running))
  for (const request of requests)
    await log.recordOutcome(await log.recordIntent(anIntent(request)), committed)
  await cp(running, folder, { recursive: true, filter: (path) => !path.endsWith('writer.lock') })
  await log.close()
  const part = await unsyncedPart(folder)
  if (part === undefined) throw new Error('the journal is empty')
  return { folder, part, whole: await readFile(part.path, 'utf8') }
}

const linesIn = (text: string): number => text.split('\n').length - 1

async function requestsIn(folder: string): Promise<string[]> {
  const found: string[] = []
  for await (const record of readAuditLog(folder)) if (record.kind === 'intent') found.push(record.request)
  return found
}

const powerCuts = ['is gone', 'is zeros', 'is zeros but for its end'] as const

it.for(powerCuts)('reads what %s in a copy from its journal, without changing the copy', async (name) => {
  const { folder, part, whole } = await copied()
  for (const at of [part.from, part.from + 1, part.to - 1]) {
    await writeFile(part.path, whole)
    await losses[name](part, at)
    const left = await readFile(part.path, 'utf8')
    expect(await requestsIn(folder)).toEqual(requests)
    const report = await verifyAuditLog(folder)
    expect(report).toMatchObject({ ok: true, chains: 1, records: linesIn(whole), unresolved: 0 })
    expect(report.journal).toEqual(
      left === whole ? undefined : { state: 'needed', file: basename(part.path), bytes: expect.any(Number) },
    )
    expect(report.tornTail).toBeUndefined()
    expect(await readFile(part.path, 'utf8')).toBe(left)
  }
})

it('reports text at the end that differs from the journal', async () => {
  const { folder, part, whole } = await copied()
  await writeFile(part.path, whole.replace('"request":"three"', '"request":"thre3"'))
  const what = 'the end differs from the journal: 1 bytes changed'
  expect((await verifyAuditLog(folder)).problem).toEqual({ file: basename(part.path), what })
})

it('reports a segment that is missing or truncated below the contents of the journal', async () => {
  const { folder, part } = await copied()
  await truncate(part.path, part.from - 10)
  expect((await verifyAuditLog(folder)).problem?.what).toMatch(/^the journal does not continue the file: /)
  await rm(part.path)
  expect((await verifyAuditLog(folder)).problem).toEqual({
    file: basename(part.path),
    what: 'the file is missing, but the journal has records of it',
  })
})

it('reports records missing from both the file and the damaged journal', async () => {
  const { folder, part } = await copied()
  await losses['is gone'](part, part.from)
  const journal = await readFile(join(folder, journalName))
  // The second entry: each occupies one block.
  journal[4_096 + 100] = (journal[4_096 + 100] ?? 0) ^ 1
  await writeFile(join(folder, journalName), journal)
  expect((await verifyAuditLog(folder)).problem).toEqual({
    file: basename(part.path),
    what: 'records at the end are lost: the journal is damaged',
  })
})

it('the commands read the journal, and verify reports that, or its absence', async () => {
  const { folder, part, whole } = await copied()
  await losses['is gone'](part, part.from)
  const audit = (command: string, ...more: string[]) => runCommand(['audit', command, folder, ...more])
  const verified = await audit('verify')
  expect(verified.status).toBe(0)
  expect(verified.output).toContain(`good: ${linesIn(whole)} records in 1 chain`)
  const lacks = `journal: ${basename(part.path)} lacks ${part.to - part.from} bytes, which the journal contains`
  expect(verified.output).toContain(lacks)
  expect((await audit('query')).output.match(/ intent /g)).toHaveLength(3)
  expect((await audit('export', '--format', 'json')).output.trimEnd().split('\n')).toHaveLength(
    linesIn(whole),
  )
  // Nothing is sealed yet, and each of the table's records is found.
  expect((await audit('prove', '--table', 'production$orders')).messages).toMatch(/^6 newer records/)

  await writeFile(join(folder, journalName), 'damaged')
  expect((await audit('verify')).messages).toContain('the journal cannot be read')
  await rm(join(folder, journalName))
  await writeFile(part.path, whole.split('\n').slice(0, -2).join('\n'))
  expect((await audit('verify')).messages).toContain('no journal found')
})
