import { expect, it } from 'vitest'
import { seed } from '../support/seed.ts'
import { isThorough } from '../support/thorough.ts'
import { runCampaign } from './campaign.ts'
import { findDifferences } from './find-differences.ts'
import { startLenientCatalog } from './lenient-catalog.ts'

/** Number of inputs. Example: `DIFFERENTIAL_REQUESTS=100000 TEST_SEED=7 npx vitest run test/differential`. */
const count = Number(process.env['DIFFERENTIAL_REQUESTS'] ?? (isThorough ? 6_000 : 265))

it(
  'every lenient interpretation of an upstream request is the authorized one',
  { timeout: 60_000 + count * 20 },
  async () => {
    const catalog = await startLenientCatalog()
    const { records, errors, statuses } = await runCampaign({ upstreamUrl: catalog.url, seed, count })
    const differences = catalog.requests.flatMap((request) =>
      findDifferences(request, records).map(
        (difference) => `${difference}\n    ${request.method} ${request.target} (${request.requestId})`,
      ),
    )
    console.info(
      `seed ${seed}: ${count} inputs, ${catalog.requests.length} upstream requests, statuses ${JSON.stringify(statuses)}`,
    )
    expect([...differences, ...errors].slice(0, 20), `seed ${seed}`).toEqual([])
    // A generator whose requests are all refused, or all forwarded, tests nothing.
    expect(catalog.requests.length).toBeGreaterThan(count / 10)
    expect(catalog.requests.length).toBeLessThan(count)
  },
)
