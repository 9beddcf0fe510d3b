import { queryTableRequest } from '../../../src/interface/schemas/query.ts'
import { openEngine } from '../../../src/backend/engine/lancedb-engine.ts'

// Queries all rows of the table at LOCATION, and tells how many bytes came and by how many the memory grew at most:
// `query-memory-process.ts LOCATION`.
const engine = openEngine()
const location = process.argv[2] ?? ''

async function readAll(query: unknown, onChunk: () => void): Promise<number> {
  let bytes = 0
  for await (const chunk of await engine.query(location, queryTableRequest.parse(query))) {
    bytes += chunk.length
    onChunk()
  }
  return bytes
}

// What the first query of any size needs, whatever comes after it, is not counted.
await readAll({ k: 10_000 }, () => {})
const before = process.memoryUsage.rss()
let highest = before
const sample = (): void => {
  highest = Math.max(highest, process.memoryUsage.rss())
}
const timer = setInterval(sample, 5)
const bytes = await readAll({}, sample)
clearInterval(timer)
process.stdout.write(`${JSON.stringify({ bytes, growth: highest - before })}\n`)
await engine.close()
