import fc from 'fast-check'
import { Histogram, Registry } from 'prom-client'
import { expect, it } from 'vitest'
import { createDurationHistogram } from '../../../src/observability/metrics/duration-histogram.ts'

const common = { name: 'took_seconds', help: 'How long it took.', labelNames: ['stage', 'upstream'] as const }
const buckets = [0.001, 0.01, 0.1, 1]

it('matches the histogram of prom-client', async () => {
  const stage = fc.constantFrom('place', 'audit', 'a "quoted" one')
  const seconds = fc.oneof(
    fc.constantFrom(...buckets, 0, 0.01001, 1e9),
    fc.double({ min: 0, max: 2, noNaN: true }),
  )
  const observed = fc.array(fc.record({ stage, upstream: fc.constantFrom('', 'lake'), seconds }), {
    maxLength: 40,
  })
  await fc.assert(
    fc.asyncProperty(observed, async (observations) => {
      const [own, theirs] = [new Registry(), new Registry()]
      const histogram = createDurationHistogram({ ...common, buckets })
      own.registerMetric(histogram)
      const slow = new Histogram({ ...common, buckets, registers: [theirs] })
      for (const { stage, upstream, seconds } of observations) {
        histogram.labels(stage, upstream).observe(seconds)
        slow.observe({ stage, upstream }, seconds)
      }
      expect(await own.metrics()).toBe(await theirs.metrics())
    }),
  )
})
