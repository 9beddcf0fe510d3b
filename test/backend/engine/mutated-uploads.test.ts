import { expect, test } from 'vitest'
import { InterfaceError } from '../../../src/interface/errors.ts'
import { isThorough } from '../../thorough.ts'
import { remoteUpload } from './remote-upload.ts'
import { freshEngine, orders, streamOf } from './sample-tables.ts'

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

/** Sends as many mutated streams to a table of its own as there are rounds; answers what failed in another way than by refusal. */
async function sendMutated(streams: readonly Uint8Array[], seed: number, rounds: number): Promise<unknown[]> {
  const { engine, location, query } = await freshEngine()
  await engine.create(location, streamOf(orders(20)), 'create')
  const next = generator(seed)
  const unexpected: unknown[] = []
  for (let round = 0; round < rounds; round++) {
    const mutated = mutate(streams[round % streams.length] ?? Buffer.alloc(0), next)
    await engine.insert(location, mutated, 'append').catch((error: unknown) => {
      const refused = error instanceof InterfaceError && error.status >= 400 && error.status < 500
      if (!refused) unexpected.push(String(error instanceof InterfaceError ? error.cause : error))
    })
  }
  expect((await query({})).numRows).toBe(await engine.count(location))
  return unexpected
}

test('thousands of damaged uploads are stored or refused, and the tables stay readable', async () => {
  const streams = [streamOf(orders(20)), await remoteUpload(orders(300))]
  // Every upload that is stored makes the next manifest longer, so several tables take less time than one.
  const seeds = Array.from({ length: 10 }, (_, index) => 7 + index)
  const unexpected = await Promise.all(
    seeds.map((seed) => sendMutated(streams, seed, isThorough ? 500 : 200)),
  )
  expect(unexpected.flat()).toEqual([])
}, 60_000)
