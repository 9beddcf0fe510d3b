// Appends large records, one after the other, and prints for each whether it is durable; then it kills itself.
import { writeSync } from 'node:fs'
import { openAuditLog } from '../../src/audit/log.ts'
import { anIntent } from './intents.ts'

const [folder = ''] = process.argv.slice(2)
const log = await openAuditLog({ folder, gateway: 'gateway-0', software: '0.1.0' })
const note = 'x'.repeat(65_000)
for (let n = 0; n < 24; n += 1) {
  const state = await log.intent(anIntent(`${n}`, { note })).then(
    () => 'durable',
    ({ reason }: { reason: string }) => reason,
  )
  writeSync(1, `${state}\n`)
}
process.kill(process.pid, 'SIGKILL')
