import { expect, it } from 'vitest'
import { openAuditLog } from '../../../src/audit/log/audit-log.ts'
import { verifyAuditLog } from '../../../src/audit/verify/verify-audit-log.ts'
import { logOptions, ofKind, recordsOf } from '../audit-fixtures.ts'
import { killedWriter } from './killed-writer.ts'
import { isThorough } from '../../support/thorough.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

it('the log contains all records reported by a killed writer', async () => {
  const folder = await temporaryFolder()
  const printed: string[] = []
  const rounds = isThorough ? 4 : 2
  for (let round = 0; round < rounds; round += 1) {
    printed.push(...(await killedWriter(folder)))
    expect(await verifyAuditLog(folder)).toMatchObject({ ok: true, chains: round + 1 })
  }
  const log = await openAuditLog(logOptions(folder))
  await log.close()

  expect(printed.length).toBeGreaterThan(0)
  const records = await recordsOf(folder)
  const intents = ofKind(records, 'intent').map(({ chain, seq }) => `${chain} ${seq}`)
  const durable = new Set(intents)
  expect(printed.filter((intent) => !durable.has(intent))).toEqual([])

  const resolved = ofKind(records, 'outcome').map(
    ({ chain, intentChain, intentSeq }) => `${intentChain ?? chain} ${intentSeq}`,
  )
  expect(resolved.toSorted()).toEqual(intents.toSorted())
  const report = await verifyAuditLog(folder)
  expect(report).toMatchObject({ ok: true, chains: rounds + 1, records: records.length, unresolved: 0 })
})
