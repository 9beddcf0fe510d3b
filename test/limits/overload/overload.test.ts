import { expect, it, onTestFinished } from 'vitest'
import { openLoadedGateway } from '../../../bench/offered-load.ts'
import { isThorough } from '../../support/thorough.ts'

it.skipIf(!isThorough)(
  'at ten times its capacity, the upstream does nine tenths of its work, and no small read is refused',
  { timeout: 120_000 },
  async () => {
    const loaded = await openLoadedGateway(500)
    onTestFinished(() => loaded.close())
    const peak = await loaded.offer(1.5, 4_000, 8_000)
    const overload = await loaded.offer(10, 4_000, 8_000)
    expect(overload.workPerSecond).toBeGreaterThan(0.9 * peak.workPerSecond)
    expect(overload.queries.refused).toBeGreaterThan(overload.queries.served)
    expect(overload.reads.refused).toBe(0)
    // An unbounded queue would take more than a minute.
    expect(overload.reads.p99Ms).toBeLessThan(5_000)
  },
)
