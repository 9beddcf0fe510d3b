import { expect, it } from 'vitest'
import { runCampaign } from './campaign.ts'
import { differencesOf } from './differences.ts'
import { amount } from './extent.ts'
import { startLenientCatalog } from './lenient-catalog.ts'
import { seed } from '../support/seed.ts'
import { isThorough } from '../support/thorough.ts'

const count = amount(isThorough ? 20_000 : 1_500)

it(
  'every lenient reading of an upstream request is the authorized one',
  { timeout: 60_000 + count * 20 },
  async () => {
    const catalog = await startLenientCatalog()
    try {
      const {
        authorized,
        faults: errors,
        statuses,
      } = await runCampaign({ upstreamUrl: catalog.url, seed, count })
      const differences = catalog.arrivals.flatMap((arrival) =>
        differencesOf(arrival, authorized).map(
          (difference) => `${difference}\n    ${arrival.method} ${arrival.target} (${arrival.requestId})`,
        ),
      )
      console.info(
        `seed ${seed}: ${count} exchanges, ${catalog.arrivals.length} reached the upstream, statuses ${JSON.stringify(statuses)}`,
      )
      expect([...differences, ...errors].slice(0, 20), `seed ${seed}`).toEqual([])
      // Attacks of which none or all come through test nothing.
      expect(catalog.arrivals.length).toBeGreaterThan(count / 10)
      expect(catalog.arrivals.length).toBeLessThan(count)
    } finally {
      await catalog.close()
    }
  },
)
