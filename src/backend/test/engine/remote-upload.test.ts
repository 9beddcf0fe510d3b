import { Field, Int32, List, Schema, tableFromIPC, type DataType } from 'apache-arrow'
import { expect, it } from 'vitest'
import { freshEngine, orders, rowsOf, schemaOnly, streamOf } from './sample-tables.ts'
import { remoteUpload } from './remote-upload.ts'

it('stores and returns compressed uploads of the remote client', async () => {
  const { engine, location, query } = await freshEngine()
  const table = orders(5000)
  const upload = await remoteUpload(table)
  // The JavaScript library cannot read it: the bytes must pass undecoded.
  expect(() => tableFromIPC(upload)).toThrow(/compress/i)
  expect(upload.length).toBeLessThan(streamOf(table).length)
  await engine.create(location, upload, 'create')
  expect(await engine.insert(location, await remoteUpload(orders(10, 5000)), 'append')).toMatchObject({
    rows: 10,
  })
  expect(rowsOf(await query({ order_by: [{ column_name: 'id' }] }))).toEqual(rowsOf(orders(5010)))
})

it("creates an empty table from the remote client's upload without rows", async () => {
  const { engine, location } = await freshEngine()
  const upload = await remoteUpload(orders(1).slice(0, 0))
  await engine.create(location, upload, 'create')
  expect(await engine.count({ location })).toBe(0)
  await engine.insert(location, streamOf(orders(3)), 'append')
  expect(await engine.insert(location, upload, 'append')).toMatchObject({ rows: 0 })
  expect(await engine.count({ location })).toBe(3)
  await engine.insert(location, upload, 'overwrite')
  expect(await engine.count({ location })).toBe(0)
})

it('keeps schema metadata', async () => {
  const { engine, location } = await freshEngine()
  const table = orders(1)
  table.schema.metadata.set('owner', 'sales')
  await engine.create(location, streamOf(table), 'create')
  expect((await engine.describe({ location })).metadata).toEqual({ owner: 'sales' })
})

it('rejects an upload that is too large when decoded with 413', async () => {
  const { engine, location } = await freshEngine(1000)
  await expect(engine.create(location, streamOf(orders(1000)), 'create')).rejects.toMatchObject({
    status: 413,
  })
})

it('refuses a schema that is nested too deeply', async () => {
  const { engine, location } = await freshEngine()
  let type: DataType = new Int32()
  for (let depth = 0; depth < 70; depth += 1) type = new List(new Field('item', type))
  const upload = schemaOnly(new Schema([new Field('deep', type)]))
  await expect(engine.create(location, upload, 'create')).rejects.toMatchObject({ kind: 'InvalidInput' })
})
