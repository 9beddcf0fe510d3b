import { expect, it } from 'vitest'
import { isThorough } from '../../test/support/thorough.ts'
import { auditRecords } from './audit-records.ts'
import { measureOnce, type Cost, type Growth } from './growth.ts'
import { keys } from './keys.ts'
import { listings } from './listings.ts'
import { policies } from './policies.ts'
import { principals } from './principals.ts'

/** What four times as much may cost: linear is 4, quadratic 16. Compilers and caches make for the rest. */
const maxFactor = 9
const rounds = 3

/** The least of several rounds, as other load only adds. */
async function measureLeast(growth: Growth, size: number): Promise<readonly Cost[]> {
  const all: (readonly Cost[])[] = []
  for (let round = 0; round < rounds; round += 1) all.push(await measureOnce(growth, size))
  return (all[0] ?? []).map((cost, index) => ({
    ...cost,
    amount: Math.min(...all.map((costs) => costs[index]?.amount ?? Infinity)),
  }))
}

it.runIf(isThorough).each([keys, policies, principals, listings, auditRecords])(
  'costs in proportion at most: $unit',
  { timeout: 240_000 },
  async (growth) => {
    const [few, many] = growth.shortSizes
    const before = await measureLeast(growth, few)
    const after = await measureLeast(growth, many)
    expect(before.length).toBeGreaterThan(1)
    const worse = after.filter(({ amount }, index) => amount > maxFactor * (before[index]?.amount ?? 0))
    expect(worse).toEqual([])
  },
)
