import fc from 'fast-check'
import { expect, it } from 'vitest'
import { JoinedChunks } from '../../../src/http1/codec/joined-chunks.ts'

it('a body is the same however it is cut', () => {
  const sizes = fc.array(fc.oneof(fc.integer({ min: 0, max: 20 }), fc.integer({ min: 0, max: 9_000 })))
  fc.assert(
    fc.property(sizes, (lengths) => {
      const chunks = lengths.map((length, index) => Buffer.alloc(length, index))
      const joined = new JoinedChunks()
      for (const chunk of chunks) joined.add(chunk)
      expect(joined.concat().equals(Buffer.concat(chunks))).toBe(true)
    }),
  )
})

it('a body in chunks of one byte takes little more memory than its bytes', () => {
  const bytes = 1024 * 1024
  const joined = new JoinedChunks()
  const before = process.memoryUsage()
  for (let added = 0; added < bytes; added += 1) joined.add(Buffer.alloc(1))
  const after = process.memoryUsage()
  expect(after.arrayBuffers - before.arrayBuffers).toBeLessThan(16 * bytes)
  expect(joined.concat()).toHaveLength(bytes)
})
