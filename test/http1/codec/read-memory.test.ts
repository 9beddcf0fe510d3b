import { expect, it } from 'vitest'
import { releaseReadMemory, trackReadMemory } from '../../../src/http1/codec/read-memory.ts'

const isPossible = 'transfer' in ArrayBuffer.prototype

it.skipIf(!isPossible)('releases the memory of a read with its last chunk, however small', () => {
  for (const at of [20_000, 64 * 1024 - 1, 0]) {
    const read = Buffer.from(new ArrayBuffer(64 * 1024))
    trackReadMemory(read)
    if (at > 0) releaseReadMemory(read.subarray(0, at))
    expect(read).toHaveLength(64 * 1024)
    releaseReadMemory(read.subarray(at))
    expect(read).toHaveLength(0)
  }
})

it('does not release memory that was not read into at once', () => {
  const other = Buffer.from(new ArrayBuffer(64 * 1024))
  releaseReadMemory(other)
  expect(other).toHaveLength(64 * 1024)
  // Small buffers may belong to the pool of node.
  for (let count = 0; count < 10_000; count += 1) {
    const chunk = Buffer.concat([Buffer.alloc(1 + (count % 10_000))])
    trackReadMemory(chunk)
    releaseReadMemory(chunk)
    if (chunk.length === 0) expect(count).toBeUndefined()
  }
})
