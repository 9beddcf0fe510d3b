// Runs with a file size limit. Writes records and prints the results of the log as JSON.
import { setTimeout as pause } from 'node:timers/promises'
import { openAuditLog } from '../../../src/audit/log/audit-log.ts'
import { anIntent, logOptions } from '../intent-fixtures.ts'

const [folder = ''] = process.argv.slice(2)
let failed = 0
const observe = { failed: () => (failed += 1) }
const log = await openAuditLog(logOptions(folder, { observer: observe }))
const tooLarge = { note: 'x'.repeat(100_000) }
const seen: unknown[] = []

async function attempt(...intents: Promise<unknown>[]): Promise<void> {
  const results = await Promise.allSettled(intents)
  const reasons = results.map((result) => (result.status === 'fulfilled' ? 'durable' : result.reason.reason))
  const { writable, dropped } = log.status()
  const causes = results.map((result) =>
    result.status === 'rejected' ? result.reason.cause.code : undefined,
  )
  seen.push({
    reasons,
    writable,
    dropped,
    failed,
    failure: causes.find((code) => code !== undefined),
  })
}

await attempt(log.recordIntent(anIntent('fits')))
await attempt(log.recordIntent(anIntent('same group')), log.recordIntent(anIntent('too large', tooLarge)))
await attempt(log.recordIntent(anIntent('fits again')))

log.recordReload({ what: 'policies', revision: 'r2' })
await attempt(log.recordIntent(anIntent('too large again', tooLarge)))
while (!log.status().writable) await pause(50)
await attempt()
await log.close()
process.stdout.write(JSON.stringify(seen))
