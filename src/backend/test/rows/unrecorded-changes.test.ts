import { sql, type RawBuilder } from 'kysely'
import { expect, it } from 'vitest'
import { orders, streamOf } from '../engine/sample-tables.ts'
import { backendWithTable, responseOf, runningBackend } from '../support/running-backend.ts'

/**
 * Restarts a catalog with a database that refuses a second row of the table with this value of the column, which makes a
 * certain write fail. Returns a function that restarts it with one that accepts the row.
 */
async function refuseSecondValue(
  backend: Awaited<ReturnType<typeof runningBackend>>,
  [table, column, value]: readonly [table: string, column: string, value: string],
): Promise<() => Promise<void>> {
  const execute = (statement: RawBuilder<unknown>) =>
    backend.changeDatabase((database) => statement.execute(database))
  const target = sql`${sql.table(table)} (${sql.ref(column)}) where ${sql.ref(column)} = ${sql.lit(value)}`
  await execute(sql`create unique index refused on ${target}`)
  return () => execute(sql`drop index refused`)
}

it('rows are inserted once if the database fails after they were written', async () => {
  const backend = await runningBackend()
  const { post } = backend
  await post('/v1/table/t/declare', {})
  await post('/v1/table/other/create', streamOf(orders(1)))
  const accept = await refuseSecondValue(backend, ['objects', 'state', 'ready'])
  expect(await post('/v1/table/t/insert', streamOf(orders(3)))).toEqual(
    responseOf({ version: 1, num_inserted_rows: 3 }),
  )
  await accept()
  expect(await post('/v1/table/t/count_rows', {})).toEqual(responseOf(3))
})

it('an update whose properties the database refuses returns the properties that the table has', async () => {
  const backend = await backendWithTable()
  const { post } = backend
  const properties = { owner: 'ann' }
  await post('/v1/table/other/declare', { properties })
  await refuseSecondValue(backend, ['objects', 'properties', JSON.stringify(properties)])
  expect(await post('/v1/table/t/update', { updates: [['id', 'id + 10']], properties })).toEqual(
    responseOf({ version: 2, updated_rows: 3, properties: {} }),
  )
  expect((await post('/v1/table/t/describe', {})).json).toMatchObject({ properties: {} })
})

it('rows that replace those of a table are written once if the database fails afterwards', async () => {
  const backend = await backendWithTable(orders(1))
  const { post } = backend
  const properties = { owner: 'ann' }
  await post('/v1/table/other/declare', { properties })
  await refuseSecondValue(backend, ['objects', 'properties', JSON.stringify(properties)])
  const headers = { 'x-lance-table-properties': JSON.stringify(properties) }
  expect(await post('/v1/table/t/create?mode=overwrite', streamOf(orders(3)), headers)).toMatchObject({
    status: 200,
    json: { version: 2, properties: {} },
  })
  expect(await post('/v1/table/t/count_rows', {})).toEqual(responseOf(3))
})
