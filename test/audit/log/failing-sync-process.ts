// Appends large records sequentially and prints for each whether it is durable. Kills itself after the given number of
// refusals at the latest.
import { writeSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { openAuditLog } from '../../../src/audit/log/audit-log.ts'
import { anIntent, logOptions } from '../intent-fixtures.ts'

const [folder = '', segmentBytes = `${64 * 1024 * 1024}`, maxRefused = 'Infinity'] = process.argv.slice(2)
const log = await openAuditLog(logOptions(folder, { segmentBytes: Number(segmentBytes) }))
// Only records sync: a timer that retries after a failure would use up one of the failing calls.
const stopped = setTimeout(() => undefined).unref()
globalThis.setTimeout = Object.assign(() => stopped, { __promisify__: pause })
let refused = 0
const note = 'x'.repeat(65_000)
for (let n = 0; n < 24 && refused < Number(maxRefused); n += 1) {
  const state = await log.recordIntent(anIntent(`${n}`, { note })).then(
    () => 'durable',
    ({ reason }: { reason: string }) => reason,
  )
  if (state !== 'durable') refused += 1
  writeSync(1, `${state}\n`)
}
process.kill(process.pid, 'SIGKILL')
