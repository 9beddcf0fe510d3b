import { Dictionary, Field, FixedSizeList, Float32, Int32, Schema, Utf8, tableFromIPC } from 'apache-arrow'
import { expect, it } from 'vitest'
import type { ErrorName } from '../../../catalog-api/catalog-error.ts'
import { schemaStream } from '../../../../test/support/arrow-upload.ts'
import { orders, rowsOf, streamOf } from '../engine/sample-tables.ts'
import { responseOf, errorOf, backendWithTable } from '../support/running-backend.ts'

async function withTable() {
  const backend = await backendWithTable()
  /** The columns as `name type`, with a `!` if not nullable. */
  const columns = async () =>
    (await backend.readFields()).map(
      ({ name, type, nullable }) => `${name} ${type.type}${nullable ? '' : '!'}`,
    )
  return { ...backend, columns }
}

const arrowType = { 'content-type': 'application/vnd.apache.arrow.stream' }
const nullableInt = (name: string) => new Field(name, new Int32(), true)
const schemaOf = (...fields: Field[]) => schemaStream(new Schema(fields))

it('columns of an Arrow schema are added, null in every row', async () => {
  const { post, columns } = await withTable()
  const vector = new Field('v', new FixedSizeList(4, new Field('item', new Float32(), true)), true)
  const words = new Field('words', new Dictionary(new Utf8(), new Int32()), true)
  const schema = schemaOf(nullableInt('year'), vector, words)
  expect(await post('/v1/table/t/add_columns/', schema, arrowType)).toEqual(responseOf({ version: 2 }))
  expect((await columns()).slice(3)).toEqual(['year int32', 'v fixed_size_list', 'words utf8'])
  const response = await post('/v1/table/t/query', { k: 9, columns: ['id', 'year', 'v', 'words'] })
  expect(rowsOf(tableFromIPC(response.bytes()))).toEqual(
    [0, 1, 2].map((id) => ({ id, year: null, v: null, words: null })),
  )
})

it('columns of an Arrow schema are added to the branch in the query', async () => {
  const { post, columns } = await withTable()
  await post('/v1/table/t/branches/create', { name: 'trial' })
  const schema = schemaOf(nullableInt('year'))
  expect(await post('/v1/table/t/add_columns?branch=trial', schema, arrowType)).toMatchObject({ status: 200 })
  expect(await columns()).toHaveLength(3)
  expect(await post('/v1/table/t/query', { k: 1, branch: 'trial', columns: ['year'] })).toMatchObject({
    status: 200,
  })
})

const refusedSchemas: readonly [what: string, body: Uint8Array, error: ErrorName][] = [
  ['rows', streamOf(orders(1)), 'InvalidInput'],
  ['JSON', Buffer.from('{"new_columns":[{"name":"a","expression":"1"}]}'), 'InvalidInput'],
  ['no column', schemaOf(), 'InvalidInput'],
  ['a column without a name', schemaOf(nullableInt('')), 'InvalidInput'],
  ['a system column', schemaOf(nullableInt('_rowid')), 'InvalidInput'],
  ['a path', schemaOf(nullableInt('a.b')), 'InvalidInput'],
  ['an existing column of the same type', schemaOf(nullableInt('id')), 'TableSchemaValidationError'],
  ['a column twice', schemaOf(nullableInt('a'), nullableInt('a')), 'TableSchemaValidationError'],
  ['a column without nulls', schemaOf(new Field('a', new Int32(), false)), 'TableSchemaValidationError'],
]

it('refuses an Arrow schema whose columns cannot be added', async () => {
  const { post, columns } = await withTable()
  for (const [what, body, error] of refusedSchemas)
    expect(await post('/v1/table/t/add_columns', body, arrowType), what).toEqual(errorOf(error))
  expect(await columns()).toHaveLength(3)
})

it('columns are renamed, and get other types', async () => {
  const { post, columns, readFields } = await withTable()
  const alter = (...alterations: object[]) => post('/v1/table/t/alter_columns', { alterations })
  expect(await alter({ path: 'name', rename: 'title', nullable: true, data_type: null })).toEqual(
    responseOf({ version: 2 }),
  )
  const item = { name: 'item', nullable: true, type: { type: 'float64' } }
  const vector = { type: 'fixed_size_list', length: 2, fields: [item] }
  const types: readonly [sent: unknown, returned: string][] = [
    ['large_utf8', 'large_utf8'],
    ['string', 'utf8'],
    [{ type: 'large_string' }, 'large_utf8'],
    [{ type: 'utf8' }, 'utf8'],
  ]
  for (const [sent, responded] of types) {
    expect((await alter({ path: 'title', data_type: sent })).status).toBe(200)
    expect(await columns()).toContain(`title ${responded}`)
  }
  const changed = await alter({ path: 'id', data_type: 'int64' }, { path: 'embedding', data_type: vector })
  expect(changed.status).toBe(200)
  expect(await columns()).toEqual(['id int64', 'title utf8', 'embedding fixed_size_list'])
  expect(JSON.stringify(await readFields())).toContain('"float64"')
  expect(await post('/v1/table/t/count_rows', { predicate: "title = 'order 1' and id = 1" })).toEqual(
    responseOf(1),
  )
})

it('columns and fields of nested columns are dropped', async () => {
  const { post, columns } = await withTable()
  const nested = [{ name: 'nested', expression: "named_struct('a', id, 'b', name)" }]
  await post('/v1/table/t/add_columns', { new_columns: nested })
  expect(await post('/v1/table/t/drop_columns', { columns: ['name', 'nested.b'] })).toEqual(
    responseOf({ version: 3 }),
  )
  expect(await columns()).toEqual(['id int32', 'embedding fixed_size_list', 'nested struct'])
  expect(await post('/v1/table/t/count_rows', { predicate: 'nested.a = 1' })).toEqual(responseOf(1))
})

it('metadata of nested and quoted fields is changed', async () => {
  const { post } = await withTable()
  await post('/v1/table/t/add_columns', {
    new_columns: [{ name: 'nested', expression: "named_struct('a', id)" }],
  })
  const update = (...updates: object[]) => post('/v1/table/t/update_field_metadata', { updates })
  expect(
    await update({ path: 'id', metadata: { a: '1', b: '2' } }, { path: 'nested.a', metadata: { c: '3' } }),
  ).toEqual(responseOf({ version: 3, fields: { id: { a: '1', b: '2' }, 'nested.a': { c: '3' } } }))
  expect(await update({ path: '`id`', metadata: { a: null, b: null }, replace: null })).toEqual(
    responseOf({ version: 4, fields: { '`id`': {} } }),
  )
})

const applied = {
  application: { function: { name: 'f' }, inputs: [], output: { kind: 'scalar' } },
  binding_metadata_version: 1,
  input_bindings: [],
  input_schema: { fields: [] },
  output_schema: { fields: [] },
  outputs: [],
}

const add = (name: string, expression: string) => ({ new_columns: [{ name, expression }] })
const alter = (members: object) => ({ alterations: [{ path: 'id', ...members }] })

const refused: readonly [route: string, body: object, error: ErrorName][] = [
  ['add_columns', add('', '1'), 'InvalidInput'],
  ['add_columns', { new_columns: [{ name: 'a' }] }, 'InvalidInput'],
  ['add_columns', { new_columns: [{ name: 'a', expression: '1', computed: '1' }] }, 'InvalidInput'],
  ['add_columns', add('a.b', '1'), 'InvalidInput'],
  ['add_columns', add('_rowid', '1'), 'InvalidInput'],
  ['add_columns', add('a', '(('), 'InvalidInput'],
  ['add_columns', add('a', 'nothing + 1'), 'InvalidInput'],
  ['add_columns', add('a', 'cast(name as int)'), 'TableSchemaValidationError'],
  ['add_columns', { new_columns: [{ name: 'a', all_null: true }], function: applied }, 'Unsupported'],
  ['add_columns', { ...add('a', '1'), branch: 'dev' }, 'TableBranchNotFound'],
  ['alter_columns', { alterations: [] }, 'InvalidInput'],
  ['alter_columns', alter({}), 'InvalidInput'],
  ['alter_columns', { alterations: ['a', 'b'].map((rename) => ({ path: 'id', rename })) }, 'InvalidInput'],
  ['alter_columns', alter({ data_type: 5 }), 'InvalidInput'],
  ['alter_columns', alter({ data_type: 'zork' }), 'InvalidInput'],
  ['alter_columns', alter({ data_type: 'time32' }), 'InvalidInput'],
  ['alter_columns', alter({ data_type: 'decimal128' }), 'InvalidInput'],
  ['alter_columns', alter({ data_type: { type: 'decimal32' } }), 'Unsupported'],
  ['alter_columns', alter({ data_type: 'utf8' }), 'TableSchemaValidationError'],
  ['drop_columns', { columns: ['id', 'id'] }, 'InvalidInput'],
  ['drop_columns', { columns: ['id', 'name', 'embedding'] }, 'InvalidInput'],
  ['drop_columns', { columns: ['id'], branch: 'dev' }, 'TableBranchNotFound'],
  ['update_field_metadata', { updates: [] }, 'InvalidInput'],
  ['update_field_metadata', { updates: [{ path: 'id' }] }, 'InvalidInput'],
  ['update_field_metadata', { updates: [{ path: 'id', metadata: { a: 1 } }] }, 'InvalidInput'],
]

it('rejects invalid column changes without changing anything', async () => {
  const { post, columns } = await withTable()
  for (const [route, body, error] of refused) {
    expect([body, await post(`/v1/table/t/${route}`, body)]).toEqual([body, errorOf(error)])
  }
  expect(await columns()).toEqual(['id int32', 'name utf8', 'embedding fixed_size_list'])
})

it('a type or a query that is nested too deeply is refused', async () => {
  const { post } = await withTable()
  const levels = 5000
  const type = `${'{"type":"list","fields":[{"name":"item","type":'.repeat(levels)}"int32"${'}]}'.repeat(levels)}`
  const body = `{"alterations":[{"path":"id","data_type":${type}}]}`
  expect(await post('/v1/table/t/alter_columns', body)).toEqual(errorOf('InvalidInput'))
  const text = `${'{"boolean":{"must":['.repeat(levels)}{"match":{"terms":"a"}}${']}}'.repeat(levels)}`
  const query = `{"k":1,"vector":[],"full_text_query":{"query":${text}}}`
  expect(await post('/v1/table/t/query', query)).toEqual(errorOf('InvalidInput'))
})

it('keeps all concurrently added columns', async () => {
  const { post, columns } = await withTable()
  const names = Array.from({ length: 6 }, (_, index) => `c${index}`)
  const responses = await Promise.all(
    names.map((name) => post('/v1/table/t/add_columns', { new_columns: [{ name, expression: 'id' }] })),
  )
  expect(responses.map(({ status }) => status)).toEqual(names.map(() => 200))
  expect((await columns()).slice(3).toSorted()).toEqual(names.map((name) => `${name} int32`))
})
