import fc from 'fast-check'
import { expect, it } from 'vitest'
import { Backoff } from '../../../src/lib/async/waiting.ts'

it('each delay is between half of the doubled bound and that bound, which stops at the maximum', () => {
  const bounds = fc.record({
    minMs: fc.integer({ min: 1, max: 1_000 }),
    factor: fc.integer({ min: 1, max: 1_000 }),
  })
  fc.assert(
    fc.property(bounds, fc.nat(20), ({ minMs, factor }, attempts) => {
      const maxMs = minMs * factor
      const backoff = new Backoff({ minMs, maxMs })
      for (let attempt = 0; attempt <= attempts; attempt += 1) {
        const bound = Math.min(minMs * 2 ** attempt, maxMs)
        const delayMs = backoff.next()
        expect(delayMs).toBeGreaterThanOrEqual(bound / 2)
        expect(delayMs).toBeLessThanOrEqual(bound)
      }
      backoff.reset()
      expect(backoff.next()).toBeLessThanOrEqual(minMs)
    }),
  )
})
