import { cp, mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { workerLogFolder } from '../../src/audit/storage/log-folders.ts'
import { openAuditLog } from '../../src/audit/log/audit-log.ts'
import { proveTable } from '../../src/audit/verify/prove-table.ts'
import { getGeneratedSealKeyFile, readSealVerifier } from '../../src/audit/records/seal-key.ts'
import { selectRecords } from '../../src/audit/query/select-records.ts'
import { auditSchema } from '../../src/config/audit/audit-settings.ts'
import { verifyAuditLogs } from '../../src/audit/verify/verify-audit-logs.ts'
import { verifyProofs } from '../../src/audit/verify/verify-proofs.ts'
import { completeOrphanedLogs } from '../../src/workers/orphaned-logs.ts'
import { anIntent, committed, logOptions, segmentsOf } from '../audit/audit-fixtures.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const orders = ['production', 'orders']

/** The logs of two workers that have alternately changed one table `changes` times each, and their key. */
async function logsOfTwo(changes: number) {
  const folder = await temporaryFolder()
  const first = await openAuditLog(logOptions(folder))
  const sealKeyFile = getGeneratedSealKeyFile(folder)
  const second = await openAuditLog(logOptions(workerLogFolder(folder, 2), { sealKeyFile }))
  for (let change = 0; change < changes; change += 1) {
    for (const [worker, log] of [first, second].entries()) {
      const request = `${worker + 1}-${change}`
      await log.recordOutcome(await log.recordIntent({ ...anIntent(request), id: orders }), committed)
    }
  }
  for (const log of [first, second]) await log.close()
  return { folder, keys: [await readSealVerifier(join(folder, 'seal-public-key.pem'))] }
}

async function linesOf(folders: readonly string[]): Promise<string[]> {
  const lines: string[] = []
  for (const folder of folders) for await (const line of proveTable(folder, orders)) lines.push(line)
  return lines
}

it('all logs are verified, and the head reveals a log that was removed', async () => {
  const { folder, keys } = await logsOfTwo(3)
  const { logs } = await verifyAuditLogs(folder, { keys })
  expect(logs.map(({ name, report }) => [name, report.ok])).toEqual([
    ['', true],
    ['worker-2', true],
  ])
  const expectedHeads = logs.map(({ report }) => report.head?.hash.slice(0, 12) ?? '')
  expect((await verifyAuditLogs(folder, { keys, expectedHeads })).missingHeads).toEqual([])

  const second = workerLogFolder(folder, 2)
  const [file = ''] = await segmentsOf(second)
  await writeFile(join(second, file), 'none\n')
  const broken = await verifyAuditLogs(folder, { keys })
  expect(broken.logs.map(({ report }) => report.ok)).toEqual([true, false])

  await rm(second, { recursive: true })
  expect(await verifyAuditLogs(folder, { keys, expectedHeads })).toMatchObject({
    logs: [{ name: '', report: { ok: true } }],
    missingHeads: expectedHeads.slice(1),
  })
})

it('records of all logs are selected by time, each log in its order', async () => {
  const { folder } = await logsOfTwo(5)
  const times: string[] = []
  const requests: string[] = []
  for await (const { record } of selectRecords(folder, { table: orders })) {
    times.push(record.time)
    if (record.kind === 'intent') requests.push(record.request)
  }
  expect(times).toEqual(times.toSorted())
  for (const worker of ['1', '2']) {
    const own = requests.filter((request) => request.startsWith(worker))
    expect(own).toEqual([0, 1, 2, 3, 4].map((change) => `${worker}-${change}`))
  }
})

it('proofs of all logs follow each other and cannot replace one another', async () => {
  const { folder, keys } = await logsOfTwo(3)
  const lines = await linesOf([folder, workerLogFolder(folder, 2)])
  const file = join(folder, 'proof.jsonl')
  const check = async (text: readonly string[]) => {
    await writeFile(file, text.map((line) => `${line}\n`).join(''))
    return verifyProofs(file, keys)
  }
  const good = { ok: true, table: orders, records: 6, isFromBeginning: true }
  expect(await check(lines)).toMatchObject([good, good])

  // A head in front of a removed record does not hide the gap: the chain does not begin at its first record.
  const [head = '', sealed = ''] = lines
  const { seal, records } = JSON.parse(sealed) as { seal: string; records: unknown[] }
  const part = (from: number, to: number) => JSON.stringify({ seal, records: records.slice(from, to) })
  expect(await check([head, part(0, 2), head, part(3, 6)])).toMatchObject([
    { ok: true, records: 2, isFromBeginning: true },
    { ok: true, records: 3, isFromBeginning: false },
  ])
  expect(await check([head, part(0, 2), part(3, 6)])).toMatchObject([{ ok: false }])
  expect(await check([head, head, sealed])).toMatchObject([
    { ok: false, problem: { line: 1, what: 'the proof has no record' } },
  ])
  expect(await check([])).toMatchObject([{ ok: false }])
})

it('the log of a worker that no longer exists is completed once', async () => {
  const folder = await temporaryFolder()
  await (await openAuditLog(logOptions(folder))).close()
  // The state after a crash.
  const crashed = await temporaryFolder()
  const running = await openAuditLog(logOptions(crashed))
  await running.recordIntent(anIntent('lost'))
  const left = workerLogFolder(folder, 3)
  await mkdir(left)
  for (const file of await segmentsOf(crashed)) await cp(join(crashed, file), join(left, file))
  await running.close()

  const complete = (workers: number) => completeOrphanedLogs(auditSchema.parse({ folder }), workers)
  await complete(3)
  expect(await segmentsOf(left)).toHaveLength(1)
  await complete(2)
  const { logs } = await verifyAuditLogs(folder)
  expect(logs).toMatchObject([
    { report: { ok: true } },
    { name: 'worker-3', report: { ok: true, unresolved: 0 } },
  ])
  const after = await segmentsOf(left)
  expect(after).toHaveLength(2)
  await complete(1)
  expect(await segmentsOf(left)).toEqual(after)
})
