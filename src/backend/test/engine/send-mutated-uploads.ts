/*
 * A process of its own for `mutated-uploads.test.ts`, since the engine reports every damaged stream on standard error:
 * node send-mutated-uploads.ts FOLDER ROUNDS. Prints as JSON what failed in another way than by refusal.
 */
import path from 'node:path'
import { tableFromIPC } from 'apache-arrow'
import { toCatalogError } from '../../catalog/known-errors.ts'
import { queryTableRequestSchema } from '../../schemas/query.ts'
import { remoteUpload } from './remote-upload.ts'
import { openLocalEngine, orders, streamOf } from './sample-tables.ts'

const [folder = '', rounds = '0'] = process.argv.slice(2)

/** A linear congruential generator: the same mutations in every run. */
function generator(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

function mutate(stream: Uint8Array, next: (below: number) => number): Buffer {
  const mutated = Buffer.from(stream)
  for (let changes = 1 + next(4); changes > 0; changes--) {
    const position = next(mutated.length)
    const kind = next(4)
    if (kind === 0) mutated[position] = next(256)
    else if (kind === 1) mutated[position] = (mutated[position] ?? 0) ^ (1 << next(8))
    else if (kind === 2)
      mutated.fill([0, 255][next(2)] ?? 0, position, Math.min(position + next(9), mutated.length))
    else if (next(4) === 0) return mutated.subarray(0, position)
  }
  return mutated
}

/** Sends mutated streams to a new table, one per round, and checks that the table stays readable. */
async function sendMutated(streams: readonly Uint8Array[], seed: number): Promise<string[]> {
  const engine = openLocalEngine()
  const location = path.join(folder, `${seed}.lance`)
  await engine.create(location, streamOf(orders(20)), 'create')
  const next = generator(seed)
  const unexpected: string[] = []
  for (let round = 0; round < Number(rounds); round++) {
    const mutated = mutate(streams[round % streams.length] ?? Buffer.alloc(0), next)
    await engine.insert(location, mutated, 'append').catch((error: unknown) => {
      if (toCatalogError(error).status >= 500) unexpected.push(String(error))
    })
  }
  const chunks: Uint8Array[] = []
  for await (const chunk of await engine.query({ location }, queryTableRequestSchema.parse({})))
    chunks.push(chunk)
  const [read, counted] = [tableFromIPC(Buffer.concat(chunks)).numRows, await engine.count({ location })]
  if (read !== counted) unexpected.push(`${read} rows were read where ${counted} are counted`)
  await engine.close()
  return unexpected
}

const streams = [streamOf(orders(20)), await remoteUpload(orders(300))]
// Every stored upload lengthens the next manifest, so several tables take less time than one.
const seeds = Array.from({ length: 10 }, (_, index) => 7 + index)
const unexpected = await Promise.all(seeds.map((seed) => sendMutated(streams, seed)))
console.log(JSON.stringify(unexpected.flat()))
