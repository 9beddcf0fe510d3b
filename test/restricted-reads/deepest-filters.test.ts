import { expect, it } from 'vitest'
import { seededRandom } from '../differential/random.ts'
import { seed } from '../support/seed.ts'
import { startRestrictedTables } from './support/restricted-tables.ts'
import { createSampleTables } from './support/sample-tables.ts'

const repeat = (open: string, inner: string, close: string, count: number): string =>
  open.repeat(count) + inner + close.repeat(count)
const chain = (word: string, count: number, condition = 'id = 1'): string =>
  Array.from({ length: count }, () => condition).join(` ${word} `)

/** Filters of the most levels, and with one more part. */
const filters: Readonly<Record<string, readonly [deepest: string, tooDeep: string]>> = {
  NOT: [
    repeat('not (', 'id between -1 and 5', ')', 16),
    `not ok or ${repeat('not (', 'id between -1 and 5', ')', 16)}`,
  ],
  'AND and OR': [
    repeat('ok and (ok or ', 'id between -1 and 5', ')', 8),
    `ok or ${repeat('ok and (ok or ', 'id between -1 and 5', ')', 8)}`,
  ],
  'AND, OR and NOT': [
    repeat('ok and (ok or not (', 'ok or id = -1', '))', 5),
    `not (${repeat('ok and (ok or not (', 'ok or id = -1', '))', 5)})`,
  ],
  'chains in chains': [
    `${chain('and', 32)} and (${chain('or', 32)} or (${chain('and', 16)}))`,
    `${chain('and', 32)} and (${chain('or', 32)} or not (${chain('and', 16)}))`,
  ],
  'a function of functions': [
    `${repeat('lower(', 'name', ')', 8)} = 'alpha'`,
    `${repeat('lower(', 'name', ')', 9)} = 'alpha'`,
  ],
  'functions in conditions': [
    repeat('not (ok or ', `contains(${repeat('upper(', 'note.open', ')', 3)}, 'A')`, ')', 4),
    repeat('not (ok or ', `contains(${repeat('upper(', 'note.open', ')', 4)}, 'A')`, ')', 4),
  ],
  'the longest chain': [chain('or', 2000), chain('or', 2001)],
}

it('the engine answers filters as deep as a restriction takes, and deeper ones are refused by name of the limit', async () => {
  const tables = await startRestrictedTables()
  await tables.replace(createSampleTables(seededRandom(seed)), false)
  for (const [name, [deepest, tooDeep]] of Object.entries(filters)) {
    const count = async (predicate: string) =>
      (await tables.send({ action: 'count_rows', body: { predicate } }, 'reader')).a
    const { status, bytes } = await count(deepest)
    expect({ name, status }, String(bytes)).toEqual({ name, status: 200 })
    const refused = await count(tooDeep)
    expect(String(refused.bytes), name).toMatch(/: it has (?:17 levels|18 levels|more than 2000 conditions)/)
    expect(refused.status).toBe(400)
  }
})
