import { expect, it } from 'vitest'
import { seededRandom } from '../differential/random.ts'
import { seed } from '../support/seed.ts'
import { isThorough } from '../support/thorough.ts'
import { findLeaks } from './support/find-leaks.ts'
import { createRandomRead, isOrdered } from './support/random-read.ts'
import { startRestrictedTables } from './support/restricted-tables.ts'
import { createSampleTables } from './support/sample-tables.ts'

/** Other counts: `RESTRICTED_READS=50000 TEST_SEED=7 npx vitest run test/restricted-reads`. */
const count = Number(process.env['RESTRICTED_READS'] ?? (isThorough ? 5_000 : 400))
const readsOfTables = 50
const concurrent = 5

it('reveals nothing of hidden rows and columns, by rows, errors or differences', async () => {
  const tables = await startRestrictedTables()
  const statuses: Record<number, number> = {}
  const leaks: string[] = []
  for (let round = 0; round * readsOfTables < count && leaks.length < 5; round += 1) {
    const random = seededRandom(seed * 100_000 + round)
    await tables.replace(createSampleTables(random), random.chance(0.5))
    const reads = Array.from({ length: readsOfTables }, () => createRandomRead(random))
    for (let next = 0; next < reads.length; next += concurrent) {
      await Promise.all(
        reads.slice(next, next + concurrent).map(async (read) => {
          const responses = await tables.send(read, 'reader')
          const { status } = responses.a
          statuses[status] = (statuses[status] ?? 0) + 1
          for (const leak of findLeaks(responses, isOrdered(read)))
            leaks.push(`TEST_SEED=${seed}, round ${round}, ${JSON.stringify(read)}: ${leak.slice(0, 600)}`)
        }),
      )
    }
  }
  if (process.env['RESTRICTED_READS'] !== undefined) console.warn(statuses)
  expect(leaks).toEqual([])
  // Both are tried: requests that are answered, and requests that are refused.
  expect(statuses[200]).toBeGreaterThan(count / 3)
  expect(statuses[400]).toBeGreaterThan(count / 10)
})
