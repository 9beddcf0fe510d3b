import { loadNative } from '../../engine/native/native-module.ts'
import { openEngine } from '../../engine/lancedb-engine.ts'
import { createStallDetector } from '../../engine/native/stall-detector.ts'
import { setTimeout as sleep } from 'node:timers/promises'
import { Int32, Table, Utf8, vectorFromArray } from 'apache-arrow'
import { streamOf } from './sample-tables.ts'

// Usage: `stalled-process.ts LOCATION [THREADS]`. Builds a full-text index with that many engine threads, on which an
// engine with one thread hangs, and prints whether the stall check reports it.
const [, , location = '', threads] = process.argv
const native = loadNative()
const engine = openEngine()
// Read when the engine first does work.
if (threads !== undefined) process.env['LANCE_CPU_THREADS'] = threads
const rows = Array.from({ length: 60_000 }, (_, row) => row)
const table = new Table({
  id: vectorFromArray(rows, new Int32()),
  text: vectorFromArray(
    rows.map((row) => `order number ${row} of ${row % 97} words`),
    new Utf8(),
  ),
})
await engine.create(location, streamOf(table), 'create')
// Only the engine that hangs may be reported soon: a slow machine also delays writes behind the build.
const isStalled = createStallDetector(native, threads === undefined ? undefined : 5000)
const request = { column: 'text', index_type: 'FTS', with_position: true } as never
const built = engine.indexes.create({ location }, request).then(() => 'built')
const outcome = await Promise.race([built, untilStalled()])
process.stdout.write(`threads ${process.env['LANCE_CPU_THREADS']}, ${outcome}\n`)
process.kill(process.pid, 'SIGKILL')

async function untilStalled(): Promise<string> {
  while (!isStalled()) await sleep(100)
  return 'stalled'
}
