import { tableFromIPC } from 'apache-arrow'
import { expect, it } from 'vitest'
import type { ErrorName } from '../../../catalog-api/catalog-error.ts'
import { rowsOf } from '../engine/sample-tables.ts'
import { errorOf, responseOf, backendWithTable } from '../support/running-backend.ts'

async function withTable() {
  const backend = await backendWithTable()
  const add = (name: string, computed: string) =>
    backend.post('/v1/table/t/add_columns', { new_columns: [{ name, computed }] })
  return { ...backend, add }
}

const definition = (expression: string, ...inputs: string[]) => ({
  computed_column: 'true',
  'computed_column.kind': 'sql',
  'computed_column.expression': expression,
  'computed_column.inputs': JSON.stringify(inputs),
})

it('a computed column has the type of its expression, its definition as metadata, and null in every row', async () => {
  const { post, readFields } = await withTable()
  const new_columns = [
    { name: 'double', computed: 'id * 2' },
    { name: 'label', computed: "name || '!'" },
    { name: 'seven', computed: '7' },
  ]
  expect(await post('/v1/table/t/add_columns', { new_columns })).toEqual(responseOf({ version: 2 }))
  expect((await readFields()).slice(3)).toMatchObject([
    { name: 'double', type: { type: 'int32' }, nullable: true, metadata: definition('id * 2', 'id') },
    { name: 'label', type: { type: 'utf8' }, nullable: true, metadata: definition("name || '!'", 'name') },
    { name: 'seven', type: { type: 'int64' }, nullable: true, metadata: definition('7') },
  ])
  const response = await post('/v1/table/t/query', { k: 9, columns: ['double', 'label', 'seven'] })
  const empty = { double: null, label: null, seven: null }
  expect(rowsOf(tableFromIPC(response.bytes()))).toEqual([empty, empty, empty])
})

const refused: readonly (readonly [expression: string, error: ErrorName])[] = [
  ['absent + 1', 'InvalidInput'],
  ['not SQL (', 'InvalidInput'],
  ['id, name', 'Unsupported'],
  ['(SELECT max(id) FROM t)', 'Unsupported'],
  ["read_csv('/etc/passwd')", 'InvalidInput'],
  ["read_text('/etc/passwd')", 'InvalidInput'],
  ['row_number() OVER ()', 'Unsupported'],
  ['NULL', 'InvalidInput'],
  ["arrow_cast(name, 'Utf8View')", 'Unsupported'],
  ['', 'InvalidInput'],
]

it('refuses expressions that have no type, or read anything but the row', async () => {
  const { add, readFields } = await withTable()
  for (const [expression, error] of refused) {
    expect(await add('x', expression), expression).toEqual(errorOf(error))
  }
  expect(await add('name', 'id')).toEqual(errorOf('TableSchemaValidationError'))
  expect(await readFields()).toHaveLength(3)
})

it('an input in another case is an input, unless it is the name of another column', async () => {
  const { add, readFields } = await withTable()
  await add('Id', 'name')
  await add('double', 'ID * 2')
  await add('copy', 'Id')
  expect((await readFields()).slice(4)).toMatchObject([
    { name: 'double', metadata: definition('ID * 2', 'Id', 'id') },
    { name: 'copy', metadata: definition('Id', 'Id') },
  ])
})
