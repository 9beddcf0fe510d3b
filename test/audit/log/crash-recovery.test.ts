import { appendFile, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openAuditLog } from '../../../src/audit/log/audit-log.ts'
import { recoverFolder } from '../../../src/audit/log/recovery.ts'
import { openSealKey } from '../../../src/audit/records/seal-key.ts'
import { verifyAuditLog } from '../../../src/audit/verify/verify-audit-log.ts'
import { anIntent, committed, copyLog, logOptions, ofKind, openLog, recordsOf } from '../audit-fixtures.ts'

/** Creates a folder as after a crash: of three intents, only the second has an outcome. */
async function crashedFolder(): Promise<{ folder: string; path: string; chain: string }> {
  const { folder: running, log } = await openLog()
  await log.recordIntent(anIntent('one'))
  const second = await log.recordIntent(anIntent('two'))
  await log.recordOutcome(second, committed)
  await log.recordIntent(anIntent('three'))
  const folder = await copyLog(running)
  await log.close()
  return { folder, path: join(folder, `${log.chain}-0000.jsonl`), chain: log.chain }
}

async function reopen(folder: string) {
  const log = await openAuditLog(logOptions(folder))
  await log.close()
  return log
}

it('records the outcome of each in-doubt intent as unknown, exactly once', async () => {
  const { folder, chain } = await crashedFolder()
  expect(await verifyAuditLog(folder)).toMatchObject({ ok: true, chains: 1, records: 6, unresolved: 2 })
  const second = await reopen(folder)
  await reopen(folder)
  const outcomes = ofKind(await recordsOf(folder), 'outcome').filter(({ result }) => result === 'unknown')
  const crash = { intentChain: chain, chain: second.chain, details: { reason: 'crash' } }
  expect(outcomes).toMatchObject([
    { request: 'one', intentSeq: 2, ...crash },
    { request: 'three', intentSeq: 5, ...crash },
  ])
  expect(await verifyAuditLog(folder)).toMatchObject({ ok: true, chains: 3, unresolved: 0 })
})

it('truncates a torn last line at any length, and records it in the next chain', async () => {
  const { folder, path } = await crashedFolder()
  const good = await readFile(path)
  const key = await openSealKey(folder, undefined)
  const lastLine = good.subarray(good.lastIndexOf(10, good.length - 2) + 1)
  const file = path.slice(folder.length + 1)
  for (let bytes = 1; bytes < lastLine.length; bytes += 1) {
    await writeFile(path, Buffer.concat([good, lastLine.subarray(0, bytes)]))
    expect(await verifyAuditLog(folder)).toMatchObject({ ok: true, records: 6, tornTail: { file, bytes } })
    // Each truncation waits for the disk.
    if (bytes % 32 !== 1) continue
    expect((await recoverFolder(folder, key)).repairs).toEqual([{ file, bytesCut: bytes }])
    expect(await readFile(path)).toEqual(good)
  }
  // A power failure may leave zeros in place of a line.
  await writeFile(path, Buffer.concat([good, Buffer.alloc(97)]))
  expect(await verifyAuditLog(folder)).toMatchObject({ ok: true, tornTail: { file, bytes: 97 } })
  await reopen(folder)
  expect(ofKind(await recordsOf(folder), 'recovered')).toMatchObject([{ file, bytesCut: 97 }])
  const report = await verifyAuditLog(folder)
  expect(report).toMatchObject({ ok: true, chains: 2, records: 12, unresolved: 0 })
})

it('retains and reports an invalid complete line, and what follows it', async () => {
  const { folder, path } = await crashedFolder()
  const forged = `${(await readFile(path, 'utf8')).replace('"three"', '"seven"')}{"v":1`
  await writeFile(path, forged)
  await reopen(folder)
  expect(await readFile(path, 'utf8')).toBe(forged)
  const [tampered] = ofKind(await recordsOf(folder), 'tampered')
  expect(tampered).toMatchObject({ what: 'extended', line: 6, lines: 1 })
  expect(ofKind(await recordsOf(folder), 'recovered')).toEqual([])
  expect(await verifyAuditLog(folder)).toMatchObject({ ok: false, problems: [{ line: 6 }] })
})

it.each([
  ['changed', 'line 3: the hash does not match the line', (line: string) => line.replace('"one"', '"six"')],
  ['repeated', 'line 4: another writer added the record', (line: string) => `${line}\n${line}`],
  ['missing', 'line 3: expected record 2, found record 3', () => undefined],
])('names a %s line before the last record, which it follows', async (_how, damage, change) => {
  const { folder, path } = await crashedFolder()
  const lines = (await readFile(path, 'utf8')).split('\n')
  const damaged = lines.map((line, index) => (index === 2 ? change(line) : line))
  await writeFile(path, damaged.filter((line) => line !== undefined).join('\n'))
  await reopen(folder)
  const records = await recordsOf(folder)
  expect(ofKind(records, 'recovered')).toMatchObject([{ bytesCut: 0, damage }])
  expect(ofKind(records, 'tampered')).toEqual([])
})

it('leaves no chain after a crash while opening one', async () => {
  const { folder, chain } = await crashedFolder()
  await appendFile(join(folder, '00000001-0123456789ab-0000.jsonl.opening'), '{"v":1,"kind":"st')
  expect(await verifyAuditLog(folder)).toMatchObject({ ok: true, chains: 1, unresolved: 2 })
  const log = await reopen(folder)
  expect(log.recovery).toMatchObject({ previous: { chain }, unresolved: [{ seq: 2 }, { seq: 5 }] })
  expect((await readdir(folder)).filter((file) => file.endsWith('.opening'))).toEqual([])
  expect(await verifyAuditLog(folder)).toMatchObject({ ok: true, chains: 2, unresolved: 0 })
})

it('starts with an empty chain in the folder, and reports it', async () => {
  const { folder, path } = await crashedFolder()
  await writeFile(path, '')
  await reopen(folder)
  expect((await verifyAuditLog(folder)).problems[0]?.what).toMatch(/no records/)
})
