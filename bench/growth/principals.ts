import { createLimits } from '../../src/limits/limits.ts'
import type { LimitedRequest } from '../../src/limits/limits.ts'
import { getOperation } from '../../src/catalog-api/operations.ts'
import { processorCost, type Growth } from './growth.ts'

const requests = 200_000
const limits: Parameters<typeof createLimits>[0] = {
  rates: [{ name: 'rate', operations: ['all'], per: 'principal', perSecond: 1e9 }],
  concurrency: [{ name: 'running', operations: ['all'], per: 'principal', maxRequests: 10 }],
  failedAuthentications: undefined,
}

/** Principals with requests in turn, each with a rate and a limit of concurrent requests of its own. */
export const principals: Growth = {
  unit: 'principals with limits',
  sizes: [100, 1_000, 10_000, 100_000],
  shortSizes: [5_000, 20_000],
  async measure(size) {
    const each = Array.from({ length: size }, (_, index) => requestOf(`robot-${index}`))
    const admitter = createLimits(limits)
    const admit = (count: number): void => {
      for (let request = 0; request < count; request += 1) {
        const of = each[request % size]
        if (of !== undefined) admitter.admit(of)?.()
      }
    }
    return [
      await processorCost('the first request of each', async () => admit(size)),
      await processorCost('200,000 further requests', async () => admit(requests)),
    ]
  },
}

function requestOf(name: string): LimitedRequest {
  return {
    principal: { name, method: 'api-key' },
    route: { operation: getOperation('InsertIntoTable'), id: ['bench', 'table'] },
    head: { client: '192.0.2.1' },
  }
}
