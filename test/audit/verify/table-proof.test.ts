import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openAuditLog } from '../../../src/audit/log/audit-log.ts'
import { proveTable } from '../../../src/audit/verify/prove-table.ts'
import { verifyProofs } from '../../../src/audit/verify/verify-proofs.ts'
import { aRefusal, anIntent, committed, logOptions } from '../audit-fixtures.ts'
import { keyOf } from './forge-log.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const orders = ['production', 'orders']
const people = ['production', 'people']

/**
 * Writes two chains with several segments and alternating records of two tables; the last records of both are not
 * signed.
 */
async function logOfTwoTables() {
  const folder = await temporaryFolder()
  const options = logOptions(folder, { segmentBytes: 6_000, sealRecords: 5 })
  for (let chain = 0; chain < 2; chain += 1) {
    const log = await openAuditLog(options)
    for (let n = 0; n < 8; n += 1) {
      for (const id of [orders, people, people]) {
        await log.recordOutcome(await log.recordIntent({ ...anIntent(`${chain} ${n}`), id }), committed)
      }
      log.recordRefusal({ ...aRefusal('denied'), id: orders })
    }
    const objects = [orders, people].map((id) => ({ operation: 'CreateTableVersion' as const, id }))
    await log.recordIntent({ ...anIntent('batch'), operation: 'BatchCommitTables', id: [], objects })
    await log.close()
  }
  return { folder, keys: [await keyOf(folder)] }
}

async function proofOf(folder: string, table: readonly string[]): Promise<string[]> {
  const lines: string[] = []
  for await (const line of proveTable(folder, table)) lines.push(line)
  return lines
}

async function checked(folder: string, lines: readonly string[], keys: Parameters<typeof verifyProofs>[1]) {
  const file = join(folder, 'proof.jsonl')
  await writeFile(file, lines.map((line) => `${line}\n`).join(''))
  return onlyReport(await verifyProofs(file, keys))
}

function onlyReport(reports: Awaited<ReturnType<typeof verifyProofs>>) {
  const [report] = reports
  if (report === undefined || reports.length > 1) throw new Error('there is more than one proof, or none')
  return report
}

it('a proof contains the whole history of its table, and verifies without the log', async () => {
  const { folder, keys } = await logOfTwoTables()
  const proof = await proofOf(folder, orders)
  // 8 intents, outcomes and refusals per chain, and the batch, whose outcome adds one record to the first chain.
  const good = { ok: true, table: orders, records: 2 * 25 + 1, isFromBeginning: true }
  expect(await checked(await temporaryFolder(), proof, keys)).toMatchObject(good)
  expect(await checked(folder, await proofOf(folder, people), keys)).toMatchObject({ ok: true, records: 67 })
})

it('a proof reveals only ids of other tables that share a batch', async () => {
  const { folder } = await logOfTwoTables()
  const lines = (await proofOf(folder, orders)).slice(1)
  const records = lines.flatMap((line) => (JSON.parse(line) as { records: { line: string }[] }).records)
  const others = records.filter(({ line }) => line.includes('"people"'))
  expect(others.every(({ line }) => line.includes('"batch"'))).toBe(true)
  expect(others).toHaveLength(3)
})

it('detects a missing record at any position', async () => {
  const { folder, keys } = await logOfTwoTables()
  const [head = '', ...sealed] = await proofOf(folder, orders)
  const groups = sealed.map((line) => JSON.parse(line) as { seal: string; records: unknown[] })
  const locations = groups.flatMap(({ records }, group) => records.map((_, at) => ({ group, at })))
  for (const { group, at } of locations.slice(1, -1)) {
    const bad = groups.map((each, index) =>
      index === group ? { ...each, records: each.records.toSpliced(at, 1) } : each,
    )
    const report = await checked(folder, [head, ...bad.map((each) => JSON.stringify(each))], keys)
    expect(report.problem?.what).toMatch(/a record of the table is missing/)
  }
  const later = [head, ...groups.slice(1).map((each) => JSON.stringify(each))]
  expect(await checked(folder, later, keys)).toMatchObject({ ok: true, isFromBeginning: false })
})

it('rejects a proof with any changed character', async () => {
  const { folder, keys } = await logOfTwoTables()
  const proof = (await proofOf(folder, orders)).slice(0, 2)
  const good = await checked(folder, proof, keys)
  expect(good.ok).toBe(true)
  const text = proof.map((line) => `${line}\n`).join('')
  const file = join(folder, 'proof.jsonl')
  for (let at = 0; at < text.length; at += 13) {
    const character = text[at] === 'x' ? 'y' : 'x'
    await writeFile(file, text.slice(0, at) + character + text.slice(at + 1))
    const report = onlyReport(await verifyProofs(file, keys))
    expect({ at, ok: report.ok }).toEqual({ at, ok: false })
  }
})

it('rejects a proof with another key, or of another table', async () => {
  const { folder, keys } = await logOfTwoTables()
  const other = await logOfTwoTables()
  const proof = await proofOf(folder, orders)
  const strange = await checked(folder, proof, other.keys)
  expect(strange.problem).toMatchObject({
    line: 2,
    what: expect.stringMatching(/pass its public key with --public-key/),
  })
  const head = JSON.stringify({ proof: 1, table: people })
  const mistaken = await checked(folder, [head, ...proof.slice(1)], keys)
  expect(mistaken.problem?.what).toMatch(/is not about the table/)
  expect((await readFile(join(folder, 'proof.jsonl'), 'utf8')).length).toBeGreaterThan(0)
})
