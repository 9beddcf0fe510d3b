// Runs where no file can grow beyond some size, and prints as JSON what the log did about it, after it has written
// records of the lengths that are given.
import { setTimeout as pause } from 'node:timers/promises'
import { readJournal } from '../../src/audit/journal.ts'
import { openAuditLog } from '../../src/audit/log.ts'
import { anIntent } from './intents.ts'

const [folder = '', ...lengths] = process.argv.slice(2)
let failed = 0
const observe = { flushed() {}, failed: () => (failed += 1), dropped() {} }
const log = await openAuditLog({ folder, gateway: 'gateway-0', software: '0.1.0', observe })
const tooLarge = { note: 'x'.repeat(100_000) }
const seen: unknown[] = []

async function attempt(...intents: Promise<unknown>[]): Promise<void> {
  const results = await Promise.allSettled(intents)
  const reasons = results.map((result) => (result.status === 'fulfilled' ? 'durable' : result.reason.reason))
  const { writable, dropped, failure } = log.status()
  const held = await readJournal(folder)
  // What was refused must not come back after a crash.
  const comesBack = typeof held === 'string' || held.some(({ bytes }) => bytes.includes('too large'))
  seen.push({
    reasons,
    comesBack,
    writable,
    dropped,
    failed,
    failure: failure && 'code' in failure && failure.code,
  })
}

for (const length of lengths) await log.intent(anIntent('filling', { note: 'x'.repeat(Number(length)) }))
await attempt(log.intent(anIntent('fits')))
await attempt(log.intent(anIntent('same group')), log.intent(anIntent('too large', tooLarge)))
await attempt(log.intent(anIntent('fits again')))

log.reload({ what: 'policies', revision: 'r2' })
await attempt(log.intent(anIntent('too large again', tooLarge)))
while (!log.status().writable) await pause(50)
await attempt()
await log.close()
process.stdout.write(JSON.stringify(seen))
