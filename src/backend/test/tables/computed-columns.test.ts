import { tableFromIPC } from 'apache-arrow'
import { expect, it } from 'vitest'
import type { ErrorName } from '../../../catalog-api/catalog-error.ts'
import { orders, rowsOf, streamOf } from '../engine/sample-tables.ts'
import { errorOf, responseOf, runningBackend } from '../support/running-backend.ts'

interface DescribedField {
  readonly name: string
  readonly type: { readonly type: string }
  readonly nullable: boolean
  readonly metadata?: Readonly<Record<string, string>>
}

async function withTable() {
  const backend = await runningBackend()
  await backend.post('/v1/table/t/create', streamOf(orders(3)))
  const fields = async () => {
    const { json } = await backend.post('/v1/table/t/describe?load_detailed_metadata=true', {})
    return (json as { schema: { fields: DescribedField[] } }).schema.fields
  }
  const add = async (name: string, computed: string) =>
    await backend.post('/v1/table/t/add_columns', { new_columns: [{ name, computed }] })
  return { ...backend, fields, add }
}

const definition = (expression: string, ...inputs: string[]) => ({
  computed_column: 'true',
  'computed_column.kind': 'sql',
  'computed_column.expression': expression,
  'computed_column.inputs': JSON.stringify(inputs),
})

it('a computed column has the type of its expression, its definition as metadata, and null in every row', async () => {
  const { post, fields } = await withTable()
  const new_columns = [
    { name: 'double', computed: 'id * 2' },
    { name: 'label', computed: "name || '!'" },
    { name: 'seven', computed: '7' },
  ]
  expect(await post('/v1/table/t/add_columns', { new_columns })).toEqual(responseOf({ version: 2 }))
  expect((await fields()).slice(3)).toMatchObject([
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
  const { add, fields } = await withTable()
  for (const [expression, error] of refused) {
    expect(await add('x', expression), expression).toEqual(errorOf(error))
  }
  expect(await add('name', 'id')).toEqual(errorOf('TableSchemaValidationError'))
  expect(await fields()).toHaveLength(3)
})

it('an input in another case is an input, unless it is the name of another column', async () => {
  const { add, fields } = await withTable()
  await add('Id', 'name')
  await add('double', 'ID * 2')
  await add('copy', 'Id')
  expect((await fields()).slice(4)).toMatchObject([
    { name: 'double', metadata: definition('ID * 2', 'Id', 'id') },
    { name: 'copy', metadata: definition('Id', 'Id') },
  ])
})
