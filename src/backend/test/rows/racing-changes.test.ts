import { Int32, Table, vectorFromArray } from 'apache-arrow'
import { expect, it } from 'vitest'
import { isThorough } from '../../../../test/support/thorough.ts'
import { streamOf } from '../engine/sample-tables.ts'
import { runningBackend } from '../support/running-backend.ts'

const clients = isThorough ? 8 : 4
const changes = isThorough ? 4 : 2

function counters(ids: readonly number[]): Uint8Array {
  const n = ids.map(() => 0)
  return streamOf(new Table({ id: vectorFromArray(ids, new Int32()), n: vectorFromArray(n, new Int32()) }))
}

/** Makes changes of all clients at the same time, each as soon as its client has a response; returns the statuses. */
async function race(change: (client: number) => Promise<{ status: number }>): Promise<readonly number[]> {
  const statuses: number[] = []
  await Promise.all(
    Array.from({ length: clients }, async (_, client) => {
      for (let made = 0; made < changes; made += 1) statuses.push((await change(client)).status)
    }),
  )
  return statuses
}

it('no racing update, merge, insert or delete fails or is lost', async () => {
  const { post } = await runningBackend()
  await post('/v1/table/t/create', counters([0]))
  const all = Array.from({ length: clients * changes }, () => 200)
  const merge = '/v1/table/t/merge_insert?on=id&when_matched_update_all=true&when_not_matched_insert_all=true'
  const [updated, merged, inserted] = await Promise.all([
    race(() => post('/v1/table/t/update', { predicate: 'id = 0', updates: [['n', 'n + 1']] })),
    race((client) => post(merge, counters([100 + client]))),
    race((client) => post('/v1/table/t/insert', counters([200 + client]))),
  ])
  expect([updated, merged, inserted]).toEqual([all, all, all])
  const count = async (predicate: string) => (await post('/v1/table/t/count_rows', { predicate })).json
  expect(await count(`id = 0 AND n = ${clients * changes}`)).toBe(1)
  expect(await count('id >= 100 AND id < 200')).toBe(clients)
  expect(await count('id >= 200')).toBe(clients * changes)
  expect(await race((client) => post('/v1/table/t/delete', { predicate: `id = ${200 + client}` }))).toEqual(
    all,
  )
  expect(await count('id >= 200')).toBe(0)
})
