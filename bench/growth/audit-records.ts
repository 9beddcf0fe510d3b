import { join } from 'node:path'
import { openAuditLog } from '../../src/audit/log/audit-log.ts'
import { selectRecords } from '../../src/audit/query/select-records.ts'
import { verifyAuditLog } from '../../src/audit/verify/verify-audit-log.ts'
import { anIntent, committed, logOptions } from '../../test/audit/audit-fixtures.ts'
import { processorCost, type Growth } from './growth.ts'

const inOneGroup = 500

/** Records of the audit log, an intent and an outcome for each change. */
export const auditRecords: Growth = {
  unit: 'audit records',
  sizes: [10_000, 100_000, 1_000_000],
  shortSizes: [10_000, 40_000],
  async measure(size, folder) {
    const options = logOptions(join(folder, 'audit'))
    const log = await openAuditLog(options)
    for (let first = 0; first < size / 2; first += inOneGroup) {
      const changes = Array.from({ length: inOneGroup }, async (_, index) => {
        await log.recordOutcome(await log.recordIntent(anIntent(`request-${first + index}`)), committed)
      })
      await Promise.all(changes)
    }
    await log.close()
    return [
      await processorCost('verify', async () => {
        const { ok } = await verifyAuditLog(options.folder)
        if (!ok) throw new Error('the audit log is not intact')
      }),
      await processorCost('query by request', async () => {
        const found = await count(selectRecords(options.folder, { request: `request-${size / 4}` }))
        if (found !== 2) throw new Error(`${found} records of a request were found; expected 2`)
      }),
      await processorCost('the last 10 records', () => count(selectRecords(options.folder, { last: 10 }))),
      await processorCost('open at the start', async () => {
        await (await openAuditLog(options)).close()
      }),
    ]
  },
}

async function count(items: AsyncIterable<unknown>): Promise<number> {
  let found = 0
  for await (const _ of items) found += 1
  return found
}
