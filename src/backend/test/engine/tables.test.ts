import { existsSync } from 'node:fs'
import { Int32, Table, Utf8, vectorFromArray } from 'apache-arrow'
import { expect, it } from 'vitest'
import { freshEngine, orders, rowsOf, schemaOnly, streamOf } from './sample-tables.ts'

it('a table is created, filled, counted, described and dropped', async () => {
  const { engine, location, query } = await freshEngine()
  expect(await engine.create(location, streamOf(orders(10)), 'create')).toEqual({ version: 1, rows: 10 })
  expect(await engine.insert(location, streamOf(orders(5, 10)), 'append')).toEqual({ version: 2, rows: 5 })
  expect(rowsOf(await query({}))).toEqual(rowsOf(orders(15)))
  expect(await engine.count(location)).toBe(15)
  expect(await engine.count(location, { predicate: 'id >= 12' })).toBe(3)
  expect(await engine.count(location, { version: 1 })).toBe(10)

  const description = await engine.describe(location, { includeStats: true })
  expect(description.version).toBe(2)
  expect(description.stats).toEqual({ numFragments: 2, numDeletedRows: 0 })
  expect(description.schema('namespace').fields.map((field) => field.name)).toEqual([
    'id',
    'name',
    'embedding',
  ])
  expect((await engine.describe(location, { version: 1 })).version).toBe(1)

  await engine.drop(location)
  await engine.drop(location)
  expect(existsSync(location)).toBe(false)
  await expect(engine.count(location)).rejects.toMatchObject({ kind: 'TableNotFound' })
})

it('rejects creating an existing table, and overwrites it as a new version', async () => {
  const { engine, location, query } = await freshEngine()
  await engine.create(location, streamOf(orders(3)), 'create')
  await expect(engine.create(location, streamOf(orders(1)), 'create')).rejects.toMatchObject({
    kind: 'TableAlreadyExists',
  })
  const other = new Table({ code: vectorFromArray([7], new Int32()) })
  expect(await engine.create(location, streamOf(other), 'overwrite')).toEqual({ version: 2, rows: 1 })
  expect(rowsOf(await query({}))).toEqual([{ code: 7 }])
  expect(rowsOf(await query({ version: 1 }))).toHaveLength(3)
})

it('an insert in mode overwrite replaces all rows, also by none', async () => {
  const { engine, location, query } = await freshEngine()
  await engine.create(location, streamOf(orders(3)), 'create')
  expect(await engine.insert(location, streamOf(orders(2, 50)), 'overwrite')).toEqual({ version: 2, rows: 2 })
  expect(rowsOf(await query({ columns: ['id'] }))).toEqual([{ id: 50 }, { id: 51 }])
  expect(await engine.insert(location, schemaOnly(), 'overwrite')).toEqual({ version: 3, rows: 0 })
  expect(await engine.count(location)).toBe(0)
})

it('completes all concurrent overwrites', async () => {
  const { engine, location } = await freshEngine()
  await engine.create(location, streamOf(orders(1)), 'create')
  await Promise.all(
    [1, 2, 3].map(async (count) => engine.insert(location, streamOf(orders(count)), 'overwrite')),
  )
  expect((await engine.describe(location)).version).toBe(4)
})

it('creates an empty table from a schema, and appends nothing with it', async () => {
  const { engine, location, query } = await freshEngine()
  expect(await engine.create(location, schemaOnly(), 'create')).toEqual({ version: 1, rows: 0 })
  expect(await engine.insert(location, schemaOnly(), 'append')).toEqual({ version: 1, rows: 0 })
  const response = await query({})
  expect(response.numRows).toBe(0)
  expect(response.schema.names).toEqual(['id', 'name', 'embedding'])
})

it('rejects rows of another schema with code 20', async () => {
  const { engine, location } = await freshEngine()
  await engine.create(location, streamOf(orders(1)), 'create')
  const unknownColumn = new Table({ other: vectorFromArray([1], new Int32()) })
  const wrongType = new Table({ id: vectorFromArray(['x'], new Utf8()) })
  for (const table of [unknownColumn, wrongType]) {
    await expect(engine.insert(location, streamOf(table), 'append')).rejects.toMatchObject({
      code: 20,
      status: 400,
    })
  }
})

it('keeps schema metadata', async () => {
  const { engine, location } = await freshEngine()
  const table = orders(1)
  table.schema.metadata.set('owner', 'sales')
  await engine.create(location, streamOf(table), 'create')
  expect((await engine.describe(location)).metadata).toEqual({ owner: 'sales' })
})

it('rejects an upload that is too large when decoded with 413', async () => {
  const { engine, location } = await freshEngine({ decodedUploadBytes: 1000 })
  await expect(engine.create(location, streamOf(orders(1000)), 'create')).rejects.toMatchObject({
    status: 413,
  })
})
