import { createHash, createPublicKey, generateKeyPairSync, verify } from 'node:crypto'
import { readFile, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { expect, it, onTestFinished, vi } from 'vitest'
import { openAuditLog, type AuditLogOptions } from '../../../src/audit/log/audit-log.ts'
import { readSealVerifier } from '../../../src/audit/records/seal-key.ts'
import { verifyAuditLog } from '../../../src/audit/verify/verify-audit-log.ts'
import {
  anIntent,
  copyLog,
  logOptions,
  ofKind,
  openLog,
  recordsOf,
  segmentsOf,
  writeChanges,
} from '../audit-fixtures.ts'
import { changeSignature, forge, keyOf } from './forge-log.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { eventually } from '../../support/eventually.ts'

async function writtenLog(changes: number, options: Partial<AuditLogOptions> = {}) {
  const { folder, log } = await openLog(options)
  await writeChanges(log, changes)
  await log.close()
  const files = (await segmentsOf(folder)).map((file) => join(folder, file))
  return { folder, keys: [await keyOf(folder)], path: files[0] ?? '', files }
}

it('a seal is signed as documented', async () => {
  const { folder, path } = await writtenLog(2)
  const lines = (await readFile(path, 'utf8')).trimEnd().split('\n')
  const key = createPublicKey(await readFile(join(folder, 'seal-public-key.pem')))
  const id = createHash('sha256')
    .update(key.export({ type: 'spki', format: 'der' }))
    .digest('hex')
  const seals = lines.filter((line) => line.includes('"kind":"seal"'))
  expect(seals).toHaveLength(2)
  for (const line of seals) {
    const [signed = '', rest = ''] = line.split(',"signature":"')
    const signature = Buffer.from(rest.split('"')[0] ?? '', 'base64url')
    expect(verify(null, Buffer.from(signed), key, signature)).toBe(true)
    expect(JSON.parse(line)).toMatchObject({ key: id.slice(0, 16), within: 1_000 })
  }
  expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject({ kind: 'seal', leaves: 4 })
  expect((await stat(join(folder, 'seal-key.pem'))).mode & 0o077).toBe(0)
})

it('every segment ends with a seal, and the number of records between seals is limited', async () => {
  const { folder, keys, files } = await writtenLog(40, { segmentBytes: 8_000, sealRecords: 7 })
  expect(files.length).toBeGreaterThan(3)
  for (const file of files) {
    expect(JSON.parse((await readFile(file, 'utf8')).trimEnd().split('\n').at(-1) ?? '').kind).toBe('seal')
  }
  const kinds = (await recordsOf(folder)).map(({ kind }) => (kind === 'seal' ? '|' : '.')).join('')
  expect(kinds).not.toContain('.'.repeat(8))
  expect(await verifyAuditLog(folder, keys)).toMatchObject({ ok: true, unsealed: { records: 0 } })
})

it('limits the time until a record is sealed, even without later records', async () => {
  const { folder, log } = await openLog({ sealMs: 20 })
  await log.recordIntent(anIntent('a'))
  await eventually(async () => expect((await recordsOf(folder)).at(-1)?.kind).toBe('seal'))
  await log.close()
})

it('reports the unsigned tail', async () => {
  const { folder, log } = await openLog()
  await writeChanges(log, 3)
  const report = await verifyAuditLog(folder, [await keyOf(folder)])
  const since = (await recordsOf(folder))[2]?.time
  expect(report).toMatchObject({ ok: true, seals: 1, unsealed: { records: 6, since } })
  expect(report.head).toEqual(log.status().head)
  await log.close()
})

it('detects records rewritten with valid hashes by their seals', async () => {
  const { folder, keys, path } = await writtenLog(3)
  await forge(path, (lines) => lines.map((line) => line.replaceAll('corp:alice', 'corp:mallory')))
  expect((await verifyAuditLog(folder, keys)).problems[0]?.what).toMatch(/signature of the seal is invalid/)
  // An attacker who rewrites the records must omit the seals.
  await forge(path, (lines) => lines.filter((line) => !line.includes('"kind":"seal"')))
  expect((await verifyAuditLog(folder)).ok).toBe(true)
  expect((await verifyAuditLog(folder, keys)).problems[0]).toMatchObject({
    file: basename(path),
    what: 'the log has no seal',
  })
})

it('detects a forged tail that is longer than the last seal allows', async () => {
  const { folder, keys, path } = await writtenLog(5, { sealRecords: 4 })
  await forge(path, (lines) => lines.filter((line, at) => at < 2 || !line.includes('"kind":"seal"')))
  expect((await verifyAuditLog(folder)).ok).toBe(true)
  expect((await verifyAuditLog(folder, keys)).problems[0]).toMatchObject({
    line: 7,
    what: 'no seal within 4 records of the last one',
  })
})

it.each([6, -6])('detects records without a seal that are %i minutes old', async (minutes) => {
  const { folder, log } = await openLog()
  await writeChanges(log, 1)
  onTestFinished(() => void vi.useRealTimers())
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + minutes * 60_000 })
  const { problems, unsealed } = await verifyAuditLog(folder)
  expect(problems.map(({ what }) => what)).toEqual([expect.stringContaining('the last 2 records, since')])
  expect(unsealed.records).toBe(2)
  vi.useRealTimers()
  await log.close()
  expect(await verifyAuditLog(folder)).toMatchObject({ ok: true, unsealed: { records: 0 } })
})

it('detects times that run backwards', async () => {
  const { folder, path } = await writtenLog(3)
  await forge(path, (lines) =>
    lines.map((line, at) => (at < 5 ? line : line.replace(/"time":"\d+/, '"time":"2020'))),
  )
  const { problems } = await verifyAuditLog(folder)
  expect(problems[0]).toMatchObject({
    line: 6,
    what: expect.stringMatching(/^the time 2020.* is before that/),
  })
})

it('detects a seal with another key or without one', async () => {
  const { folder, keys, path } = await writtenLog(1)
  const other = await writtenLog(1)
  expect((await verifyAuditLog(folder, other.keys)).problems[0]?.what).toMatch(
    /pass its public key with --public-key/,
  )
  await forge(path, (lines) => lines.map(changeSignature))
  expect((await verifyAuditLog(folder, keys)).problems[0]?.what).toMatch(/signature of the seal is invalid/)
})

it('detects a missing seal at the end of a segment', async () => {
  const { folder, keys, files } = await writtenLog(20, { segmentBytes: 4_000 })
  await forge(files[0] ?? '', (lines) => lines.slice(0, -1))
  for (const file of files.slice(1)) await rm(file)
  expect((await verifyAuditLog(folder, keys)).ok).toBe(true)
  await writeFile(files[1] ?? '', '')
  expect((await verifyAuditLog(folder, keys)).problems[0]?.what).toMatch(/does not end in a seal/)
})

it('the next start seals records left unsigned by a crash', async () => {
  const { folder, log } = await openLog()
  await writeChanges(log, 3)
  const crashed = await copyLog(folder)
  await log.close()
  // The next process may allow more or fewer records between two seals.
  await (await openAuditLog(logOptions(crashed, { sealRecords: 5_000 }))).close()
  const report = await verifyAuditLog(crashed, [await keyOf(folder)])
  expect(report).toMatchObject({ ok: true, chains: 2, seals: 2, unsealed: { records: 0 } })
  expect(ofKind(await recordsOf(crashed), 'seal').at(-1)).toMatchObject({ leaves: 7 })
})

it('the next start seals in time for the limit before a crash, however many records it left unsigned', async () => {
  const { folder, log } = await openLog({ sealRecords: 5 })
  const keys = [await keyOf(folder)]
  for (let intents = 1; intents <= 6; intents += 1) {
    await log.recordIntent(anIntent(`${intents}`))
    const crashed = await copyLog(folder)
    const next = await openAuditLog(logOptions(crashed, { sealRecords: 5_000 }))
    const report = await verifyAuditLog(crashed, keys)
    await next.close()
    expect(report).toMatchObject({ ok: true, unresolved: 0, unsealed: { records: 0 } })
  }
  await log.close()
})

it('the key may change after a clean stop', async () => {
  const { folder, keys } = await writtenLog(3)
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const [sealKeyFile, publicFile] = [join(folder, 'new.pem'), join(folder, 'new-public.pem')]
  await writeFile(sealKeyFile, privateKey.export({ type: 'pkcs8', format: 'pem' }))
  await writeFile(publicFile, publicKey.export({ type: 'spki', format: 'pem' }))
  await (await openAuditLog(logOptions(folder, { sealKeyFile }))).close()
  const report = await verifyAuditLog(folder, [...keys, await readSealVerifier(publicFile)])
  expect(report).toMatchObject({ ok: true, chains: 2, unsealed: { records: 0 } })
})

it('completes the file of the public key at each start', async () => {
  const { folder } = await writtenLog(1)
  const path = join(folder, 'seal-public-key.pem')
  const text = await readFile(path, 'utf8')
  await truncate(path, 0)
  await (await openAuditLog(logOptions(folder))).close()
  expect(await readFile(path, 'utf8')).toBe(text)
})

it('rejects a key of another type', async () => {
  const folder = await temporaryFolder()
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const sealKeyFile = join(folder, 'key.pem')
  await writeFile(sealKeyFile, privateKey.export({ type: 'pkcs8', format: 'pem' }))
  await expect(openAuditLog(logOptions(folder, { sealKeyFile }))).rejects.toThrow('expected ed25519')
  await writeFile(join(folder, 'public.pem'), publicKey.export({ type: 'spki', format: 'pem' }))
  await expect(keyOf(folder)).rejects.toThrow('seal-public-key.pem')
})
