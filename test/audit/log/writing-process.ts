// Writes intents from sixteen loops and prints "chain seq" for each resolved one, until it is killed.
import { writeSync } from 'node:fs'
import { openAuditLog } from '../../../src/audit/log/audit-log.ts'
import { hasErrorCode } from '../../../src/lib/errors.ts'
import { anIntent, committed } from '../intent-fixtures.ts'

const [folder = '', segmentBytes] = process.argv.slice(2)
const log = await openAuditLog({
  folder,
  gateway: 'gateway-0',
  software: '0.1.0',
  segmentBytes: Number(segmentBytes),
})

async function writeForever(loop: number): Promise<void> {
  for (let count = 0; ; count += 1) {
    const receipt = await log.recordIntent(anIntent(`${log.chain} ${loop} ${count}`))
    print(`${log.chain} ${receipt.seq}\n`)
    if (count % 3 > 0) await log.recordOutcome(receipt, committed)
  }
}

await Promise.all(Array.from({ length: 16 }, (_, loop) => writeForever(loop)))

/** The reader may lag behind: retry if the pipe is full. */
function print(line: string): void {
  for (;;) {
    try {
      writeSync(1, line)
      return
    } catch (error) {
      if (!hasErrorCode(error, 'EAGAIN')) throw error
    }
  }
}
