// Writes to a log with a sink like a gateway until it is killed; prints the request id of each durable intent.
import { writeSync } from 'node:fs'
import { openAuditLog } from '../../../src/audit/log/audit-log.ts'
import { openSinks } from '../../../src/audit/sinks/open-sinks.ts'
import { sinksSchema } from '../../../src/config/audit-settings.ts'
import { directOutbound } from '../../../src/outbound/outbound.ts'
import { anIntent, committed } from '../intent-fixtures.ts'

const [folder = '', settings = '', tuning = ''] = process.argv.slice(2)
const ignore = (): void => undefined
const sinks = await openSinks({
  folder,
  settings: sinksSchema.parse(JSON.parse(settings)),
  tuning: JSON.parse(tuning) as object,
  resource: { gateway: 'gateway-0', software: '0.1.0' },
  observer: { delivered: ignore, failed: ignore, rejected: ignore },
  outbound: directOutbound,
})
const log = await openAuditLog({
  folder,
  gateway: 'gateway-0',
  software: '0.1.0',
  segmentBytes: 50_000,
})
sinks.start(() => log.durableEnd())
writeSync(2, 'ready\n')

for (let count = 0; ; count += 1) {
  const request = `${log.chain} ${count}`
  const receipt = await log.recordIntent(anIntent(request))
  writeSync(2, `${request}\n`)
  await log.recordOutcome(receipt, committed)
}
