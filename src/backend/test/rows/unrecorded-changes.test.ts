import { sql } from 'kysely'
import { expect, it } from 'vitest'
import { orders, streamOf } from '../engine/sample-tables.ts'
import { responseOf, runningBackend } from '../support/running-backend.ts'

/** Starts a catalog with a declared table `t`, whose database refuses a second row with this value of a column. */
async function withRefusedValue(column: 'state' | 'properties', value: string) {
  const backend = await runningBackend()
  const change = async (statement: ReturnType<typeof sql>) => {
    await backend.stop()
    const { database, close } = await backend.openDatabase()
    await statement.execute(database)
    await close()
    await backend.restart()
  }
  await backend.post('/v1/table/t/declare', {})
  const index = sql`create unique index refused on objects (${sql.ref(column)}) where ${sql.ref(column)} = ${sql.lit(value)}`
  const refuse = () => change(index)
  return { ...backend, refuse, accept: () => change(sql`drop index refused`) }
}

it('rows are inserted once if the database fails after they were written', async () => {
  const { post, refuse, accept } = await withRefusedValue('state', 'ready')
  await post('/v1/table/other/create', streamOf(orders(1)))
  await refuse()
  expect(await post('/v1/table/t/insert', streamOf(orders(3)))).toEqual(
    responseOf({ version: 1, num_inserted_rows: 3 }),
  )
  await accept()
  expect(await post('/v1/table/t/count_rows', {})).toEqual(responseOf(3))
})

it('an update whose properties the database refuses returns the properties that the table has', async () => {
  const { post, refuse } = await withRefusedValue('properties', '{"owner":"ann"}')
  await post('/v1/table/t/insert', streamOf(orders(3)))
  await post('/v1/table/other/declare', { properties: { owner: 'ann' } })
  await refuse()
  const updates = [['id', 'id + 10']]
  expect(await post('/v1/table/t/update', { updates, properties: { owner: 'ann' } })).toEqual(
    responseOf({ version: 2, updated_rows: 3, properties: {} }),
  )
  expect((await post('/v1/table/t/describe', {})).json).toMatchObject({ properties: {} })
})
