// Runs where no file can grow beyond 64 KiB, and prints as JSON what the log did about it.
import { setTimeout as pause } from 'node:timers/promises'
import { openAuditLog } from '../../src/audit/log.ts'
import { anIntent } from './intents.ts'

const [folder = ''] = process.argv.slice(2)
let failed = 0
const observe = { flushed() {}, failed: () => (failed += 1), dropped() {} }
const log = await openAuditLog({ folder, gateway: 'gateway-0', software: '0.1.0', observe })
const tooLarge = { note: 'x'.repeat(100_000) }
const seen: unknown[] = []

async function attempt(...intents: Promise<unknown>[]): Promise<void> {
  const results = await Promise.allSettled(intents)
  const reasons = results.map((result) => (result.status === 'fulfilled' ? 'durable' : result.reason.reason))
  const { writable, dropped, failure } = log.status()
  seen.push({ reasons, writable, dropped, failed, failure: failure && 'code' in failure && failure.code })
}

await attempt(log.intent(anIntent('fits')))
await attempt(log.intent(anIntent('same group')), log.intent(anIntent('too large', tooLarge)))
await attempt(log.intent(anIntent('fits again')))

log.reload({ what: 'policies', revision: 'r2' })
await attempt(log.intent(anIntent('too large again', tooLarge)))
while (!log.status().writable) await pause(50)
await attempt()
await log.close()
process.stdout.write(JSON.stringify(seen))
