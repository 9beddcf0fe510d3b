import { expect, it } from 'vitest'
import { seededRandom, type Random } from '../differential/random.ts'
import { seed } from '../support/seed.ts'
import { findLeaks, findLeaksOfCut } from './support/find-leaks.ts'
import { createCondition } from './support/random-read.ts'
import { startRestrictedTables } from './support/restricted-tables.ts'
import { createSampleTables, visibleColumns, visibleRows } from './support/sample-tables.ts'

// What a careless gateway would send to the catalog: the search for leaks must find each.

const columns = Object.keys(visibleColumns)
const inOrder = [{ column_name: 'id' }]
const searched = { vector: [5e5, 5e5], vector_column: 'v', k: 5 }

const carelessReads: Readonly<Record<string, (random: Random) => Record<string, unknown>>> = {
  'a condition beside that of the policy, as it was sent': (random) => ({
    filter: `(${visibleRows}) AND (${createCondition(random, true, 0)})`,
    columns,
  }),
  'a condition that leaves its parentheses': () => ({
    filter: `(${visibleRows}) AND (true) OR (true)`,
    columns,
  }),
  'a condition that fails for hidden rows': () => ({
    filter: `(${visibleRows}) AND (cast(name as int) > 1)`,
    columns,
  }),
  'all columns': () => ({ filter: visibleRows }),
  'a function of a hidden column': () => ({ filter: visibleRows, columns: { a: 'upper(ssn)' } }),
  'an order by a hidden column': () => ({
    filter: visibleRows,
    columns: [...columns, 'region'],
    order_by: [{ column_name: 'ssn' }],
  }),
  'a filter after a vector search': () => ({ ...searched, filter: visibleRows, prefilter: false, columns }),
  'no filter of a vector search': () => ({ ...searched, columns }),
  'an index of the vectors of all rows': () => ({
    ...searched,
    filter: visibleRows,
    prefilter: true,
    nprobes: 1,
    columns,
  }),
  'ids of rows': () => ({ filter: visibleRows, columns, order_by: inOrder, with_row_id: true }),
  'no filter': () => ({ columns, order_by: inOrder }),
}

/** What the gateway sends. */
const carefulReads: readonly Record<string, unknown>[] = [
  { filter: visibleRows, columns, order_by: inOrder },
  { ...searched, filter: visibleRows, prefilter: true, bypass_vector_index: true, columns },
]

const maxRounds = 40

it('finds the leaks of careless gateways, and none of a careful one', async () => {
  const tables = await startRestrictedTables()
  const unnoticed = new Map(Object.entries(carelessReads))
  for (let round = 0; round < maxRounds && unnoticed.size > 0; round += 1) {
    const random = seededRandom(seed * 100_000 + round)
    await tables.replace(createSampleTables(random), random.chance(0.5))
    const find = async (parts: Record<string, unknown>): Promise<readonly string[]> => {
      const read = { action: 'query', body: { k: 1000, vector: [], ...parts } }
      return findLeaks(await tables.send(read, 'dev'), true)
    }
    for (const [name, create] of unnoticed)
      if ((await find(create(random))).length > 0) unnoticed.delete(name)
    for (const parts of carefulReads) expect(await find(parts)).toEqual([])
  }
  expect([...unnoticed.keys()]).toEqual([])
})

it('finds hidden rows and missing rows among some of all rows', async () => {
  const tables = await startRestrictedTables()
  await tables.replace(createSampleTables(seededRandom(seed), 30), false)
  const send = (parts: Record<string, unknown>) =>
    tables.send({ action: 'query', body: { vector: [], columns, ...parts } }, 'dev')
  const [visible, some, all] = [
    await send({ filter: visibleRows }),
    await send({ filter: visibleRows, k: 2 }),
    await send({}),
  ]
  expect(findLeaksOfCut(some, visible.c)).toEqual([])
  expect(findLeaksOfCut(all, visible.c)).not.toEqual([])
  expect(findLeaksOfCut({ ...some, a: visible.a }, visible.c)).not.toEqual([])
})
