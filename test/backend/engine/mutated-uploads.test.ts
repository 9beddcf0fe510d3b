import { expect, test } from 'vitest'
import { InterfaceError } from '../../../src/interface/errors.ts'
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

test('1,000 damaged uploads are stored or refused, and the table stays readable', async () => {
  const { engine, location } = await freshEngine()
  await engine.create(location, streamOf(orders(20)), 'create')
  const streams = [streamOf(orders(20)), await remoteUpload(orders(300))]
  const next = generator(7)
  const unexpected: unknown[] = []
  for (let round = 0; round < 500; round++) {
    for (const stream of streams) {
      await engine.insert(location, mutate(stream, next), 'append').catch((error: unknown) => {
        const refused = error instanceof InterfaceError && error.status >= 400 && error.status < 500
        if (!refused) unexpected.push(String(error instanceof InterfaceError ? error.cause : error))
      })
    }
  }
  expect(unexpected).toEqual([])
  expect(await engine.count(location)).toBeGreaterThanOrEqual(20)
}, 60_000)
