import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openAuditLog, type AuditLogOptions } from '../../../src/audit/log/audit-log.ts'
import { verifyAuditLog } from '../../../src/audit/verify/verify-audit-log.ts'
import {
  aRefusal,
  anIntent,
  committed,
  logOptions,
  ofKind,
  recordsOf,
  segmentsOf,
} from '../audit-fixtures.ts'
import { changeSignature, forge, keyOf } from '../verify/forge-log.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const open = (folder: string, changes: Partial<AuditLogOptions> = {}) =>
  openAuditLog(logOptions(folder, { keepsPolicyFiles: true, ...changes }))

/** The revision that the next start finds; it records none itself. */
async function reopen(folder: string, changes: Partial<AuditLogOptions> = {}): Promise<string | undefined> {
  const log = await open(folder, changes)
  await log.close()
  return log.recovery.policyFiles
}

it('each start finds the revision that was recorded last, also after starts that record none', async () => {
  const folder = await temporaryFolder()
  expect(await reopen(folder)).toBeUndefined()
  const log = await open(folder)
  await log.recordPolicyFiles('r1')
  await log.recordPolicyFiles('r2', { result: 'last_good' })
  await log.close()
  expect([await reopen(folder), await reopen(folder)]).toEqual(['r2', 'r2'])
  expect(ofKind(await recordsOf(folder), 'reload')).toMatchObject([
    { what: 'policyFiles', revision: 'r1' },
    { what: 'policyFiles', revision: 'r2', details: { result: 'last_good' } },
  ])
  expect(await verifyAuditLog(folder, { keys: [await keyOf(folder)] })).toMatchObject({ ok: true })
})

it('a start reads one segment, whenever the revision was recorded', async () => {
  const folder = await temporaryFolder()
  const log = await open(folder, { segmentBytes: 2_000 })
  await log.recordPolicyFiles('r1')
  for (let n = 0; n < 20; n += 1) await log.recordOutcome(await log.recordIntent(anIntent(`${n}`)), committed)
  await log.close()
  const files = await segmentsOf(folder)
  expect(files.length).toBeGreaterThan(3)
  await forge(join(folder, files[0] ?? ''), (lines) => lines.map((line) => line.replace('"r1"', '"r0"')))
  expect(await reopen(folder)).toBe('r1')
})

it('a record that is not sealed, as somebody without the key can add, proves nothing', async () => {
  const folder = await temporaryFolder()
  const log = await open(folder)
  await log.recordPolicyFiles('r1')
  await log.recordPolicyFiles('r2')
  await log.close()
  const [file = ''] = await segmentsOf(folder)
  const older = ofKind(await recordsOf(folder), 'reload')[0]
  await forge(join(folder, file), (lines) => [...lines, JSON.stringify(older)])
  // Nor does it after a start has sealed it.
  expect([await reopen(folder), await reopen(folder)]).toEqual([undefined, undefined])
})

it.each([
  ['a changed record', (line: string) => line.replace('"r2"', '"r1"')],
  ['a changed signature', changeSignature],
])('%s in the newest segment proves nothing', async (_, change) => {
  const folder = await temporaryFolder()
  const log = await open(folder)
  await log.recordPolicyFiles('r1')
  await log.recordPolicyFiles('r2')
  await log.close()
  const [file = ''] = await segmentsOf(folder)
  await forge(join(folder, file), (lines) => lines.map(change))
  expect(await reopen(folder)).toBeUndefined()
})

it('a gateway that did not keep its policies leaves nothing to prove', async () => {
  const folder = await temporaryFolder()
  const log = await open(folder)
  await log.recordPolicyFiles('r1')
  await log.close()
  expect(await reopen(folder, { keepsPolicyFiles: false })).toBeUndefined()
  expect(await reopen(folder)).toBeUndefined()
})

it('records policies although the queue is full', async () => {
  const folder = await temporaryFolder()
  const log = await open(folder, { queueRecords: 1 })
  log.recordRefusal(aRefusal('first'))
  await Promise.all([log.recordPolicyFiles('r1'), log.recordPolicyFiles('r2')])
  await log.close()
  expect(await reopen(folder)).toBe('r2')
})
