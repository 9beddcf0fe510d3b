import { expect, it } from 'vitest'
import { seededRandom } from '../differential/random.ts'
import { seed } from '../support/seed.ts'
import { isThorough } from '../support/thorough.ts'
import { findLeaks, findLeaksOfCut, type TableResponses } from './support/find-leaks.ts'
import { createRandomRead, getCertainty, withoutCut, type TableRequest } from './support/random-read.ts'
import { startRestrictedTables } from './support/restricted-tables.ts'
import { createSampleTables } from './support/sample-tables.ts'

/** Other counts: `RESTRICTED_READS=50000 TEST_SEED=7 npx vitest run test/restricted-reads`. */
const count = Number(process.env['RESTRICTED_READS'] ?? (isThorough ? 1_500 : 130))
const readsOfTables = 50
const concurrent = 5

const timeout = 60_000 + count * 50

it('reveals nothing of hidden rows and columns, by rows, errors or differences', { timeout }, async () => {
  const tables = await startRestrictedTables()
  const statuses: Record<number, number> = {}
  const leaks: string[] = []
  /** All rows are compared, and the rows of the read with them. */
  const findLeaksInSomeRows = async (read: TableRequest, responses: TableResponses) => {
    const whole = await tables.send(withoutCut(read), 'reader')
    return [...findLeaks(whole, false), ...findLeaksOfCut(responses, whole.c)]
  }
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
          const found =
            status === 200 && getCertainty(read) === 'count'
              ? await findLeaksInSomeRows(read, responses)
              : findLeaks(responses, getCertainty(read) === 'order')
          for (const leak of found)
            leaks.push(`TEST_SEED=${seed}, round ${round}, ${JSON.stringify(read)}: ${leak.slice(0, 600)}`)
        }),
      )
    }
  }
  if (process.env['RESTRICTED_READS'] !== undefined) console.warn(statuses)
  expect(leaks).toEqual([])
  // Both occur: accepted and refused requests.
  expect(statuses[200]).toBeGreaterThan(count / 3)
  expect(statuses[400]).toBeGreaterThan(count / 10)
})
