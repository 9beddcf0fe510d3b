import { expect, it } from 'vitest'
import { giveBack } from '../../../src/gateway/upstream/client/give-back.ts'

const isPossible = 'transfer' in ArrayBuffer.prototype

it.skipIf(!isPossible)('the memory of a piece goes with the one at its end', () => {
  const read = Buffer.from(new ArrayBuffer(64 * 1024))
  giveBack(read.subarray(0, 20_000))
  expect(read).toHaveLength(64 * 1024)
  giveBack(read.subarray(20_000))
  expect(read).toHaveLength(0)
})

it('memory that node shares among many stays, wherever a piece lies in it', () => {
  const pool = new ArrayBuffer(Buffer.poolSize)
  const largest = (Buffer.poolSize >>> 1) - 1
  for (const length of [1, 100, 4_000, largest]) giveBack(Buffer.from(pool, pool.byteLength - length, length))
  expect(pool.byteLength).toBe(Buffer.poolSize)
  // What node gives now lies in its pool.
  for (let count = 0; count < 10_000; count += 1) {
    const piece = Buffer.concat([Buffer.alloc(1 + (count % largest))])
    giveBack(piece)
    if (piece.length === 0) expect(count).toBeUndefined()
  }
})
