import { Field, Int32, Schema, Table, tableFromIPC } from 'apache-arrow'
import { expect, it } from 'vitest'
import type { ErrorName } from '../../../catalog-api/catalog-error.ts'
import { orders, rowsOf, streamOf } from '../engine/sample-tables.ts'
import { errorOf, responseOf, runningBackend } from '../support/running-backend.ts'
import { waitForJob } from '../jobs/wait-for-job.ts'

const selected = 'SELECT id, id * 2 AS double FROM t WHERE id > 0 LIMIT 5'

async function withSource() {
  const backend = await runningBackend()
  const { post, get } = backend
  await post('/v1/table/t/create', streamOf(orders(3)))
  const create = async (query: string, parts: object = {}) =>
    await post('/v1/materialized_view/v/create', { query, ...parts })
  const refresh = async (body: object = {}) =>
    await waitForJob(post, await post('/v1/materialized_view/v/refresh', body))
  const rows = async () => rowsOf(tableFromIPC((await post('/v1/table/v/query', { k: 99 })).bytes()))
  const views = async () => (await get('/v1/namespace/$/materialized_view/list')).json
  return { ...backend, create, refresh, rows, views }
}

it('a view is empty until a refresh, which replaces its rows by the current result of its query', async () => {
  const { post, create, refresh, rows } = await withSource()
  expect(await create(selected)).toEqual(responseOf({ version: 1 }, 201))
  expect(await rows()).toEqual([])
  const result = { mode: 'rebuild', rows_written: 2, source_version: 1, version: 2 }
  expect(await refresh()).toMatchObject({ job_state: 'DONE', result })
  const two = [
    { id: 1, double: 2 },
    { id: 2, double: 4 },
  ]
  expect(await rows()).toEqual(two)
  await post('/v1/table/t/delete', { predicate: 'id = 1' })
  expect(await rows()).toEqual(two)
  await refresh({ full: true })
  expect(await rows()).toEqual([{ id: 2, double: 4 }])
  await refresh({ source_version: 1 })
  expect(await rows()).toEqual(two)
  await post('/v1/table/t/delete', { predicate: 'true' })
  await refresh()
  expect(await rows()).toEqual([])
})

it('a view that is created with data is filled by a job', async () => {
  const { post, create, rows } = await withSource()
  const created = await create(selected, { with_no_data: false })
  expect(created).toEqual(responseOf({ version: 1, job_id: expect.any(String) as string }, 202))
  expect(await waitForJob(post, created)).toMatchObject({ job_state: 'DONE', result: { rows_written: 2 } })
  expect(await rows()).toHaveLength(2)
})

/** A schema in base64. */
const schemaOf = (...names: string[]) =>
  Buffer.from(
    streamOf(new Table(new Schema(names.map((name) => new Field(name, new Int32(), true))), [])),
  ).toString('base64')

it('a view is created in the form of the interface, with the columns that its output schema names', async () => {
  const { post, rows, refresh } = await withSource()
  const create = async (output_schema: string, parts: object = {}) => {
    const body = { kind: 'query', source_query: selected, output_schema, ...parts }
    return await post('/v1/materialized_view/v/create', body)
  }
  expect(await create(schemaOf('id', 'other'))).toEqual(errorOf('InvalidInput'))
  expect(await create('AAAA')).toEqual(errorOf('InvalidInput'))
  expect(await create(schemaOf('id', 'double'), { auto_refresh: true })).toEqual(errorOf('Unsupported'))
  expect(await create(schemaOf('id', 'double'), { kind: 'udtf' })).toEqual(errorOf('Unsupported'))
  expect(await create(schemaOf('id', 'double'))).toEqual(responseOf({ version: 1 }, 201))
  await refresh()
  expect(await rows()).toHaveLength(2)
})

it('a view is described and listed, and dropped without its source', async () => {
  const { post, create, views } = await withSource()
  await create(selected)
  expect(await post('/v1/materialized_view/v/describe')).toEqual(
    responseOf({
      query: selected,
      source_table: 't',
      source_namespace: [],
      projections: [
        { output_column: 'id', expression: '`id`' },
        { output_column: 'double', expression: 'id * 2' },
      ],
      filter: 'id > 0',
      limit: 5,
      incarnation: expect.any(String) as string,
    }),
  )
  expect(await views()).toEqual({ views: ['v'] })
  expect(await post('/v1/materialized_view/t/drop')).toEqual(errorOf('TableNotFound'))
  expect(await post('/v1/materialized_view/v/drop')).toEqual(responseOf({}))
  expect(await views()).toEqual({ views: [] })
  expect(await post('/v1/table/v/exists', {})).toEqual(errorOf('TableNotFound'))
  expect(await post('/v1/table/t/exists', {})).toMatchObject({ status: 200 })
})

it('a view that is dropped as a table, or with its namespace, is no view any more', async () => {
  const { post, create, views } = await withSource()
  await create(selected)
  await post('/v1/table/v/drop')
  expect(await views()).toEqual({ views: [] })
  await post('/v1/table/v/create', streamOf(orders(1)))
  expect(await post('/v1/materialized_view/v/describe')).toEqual(errorOf('TableNotFound'))
  await post('/v1/namespace/n/create', {})
  await post('/v1/materialized_view/n$v/create', { query: selected })
  await post('/v1/namespace/n/drop', { behavior: 'Cascade' })
  await post('/v1/namespace/n/create', {})
  expect(await post('/v1/materialized_view/n$v/describe')).toEqual(errorOf('TableNotFound'))
})

it('a view follows its source when that is renamed, and keeps its rows when that is dropped', async () => {
  const { post, create, refresh, rows } = await withSource()
  await create(selected)
  await post('/v1/table/t/rename', { new_table_name: 'source' })
  expect(await refresh()).toMatchObject({ job_state: 'DONE' })
  expect((await post('/v1/materialized_view/v/describe')).json).toMatchObject({ source_table: 'source' })
  await post('/v1/table/source/drop')
  expect(await post('/v1/materialized_view/v/refresh', {})).toEqual(errorOf('TableNotFound'))
  expect(await rows()).toHaveLength(2)
})

it('only a refresh changes the rows and columns of a view', async () => {
  const { post, create, refresh, rows } = await withSource()
  await create('SELECT * FROM t')
  await refresh()
  const before = await rows()
  const changes: readonly (readonly [route: string, body: unknown])[] = [
    ['insert', streamOf(orders(1))],
    ['insert?mode=overwrite', streamOf(orders(1))],
    ['merge_insert?on=id', streamOf(orders(1))],
    ['create?mode=overwrite', streamOf(orders(1))],
    ['create?mode=exist_ok', streamOf(orders(1))],
    ['update', { updates: [['id', '1']] }],
    ['delete', { predicate: 'true' }],
    ['restore', { version: 1 }],
    ['add_columns', { new_columns: [{ name: 'x', expression: '1' }] }],
    ['alter_columns', { alterations: [{ path: 'id', rename: 'x' }] }],
    ['drop_columns', { columns: ['id'] }],
    ['backfill_column', { column: 'id' }],
    ['version/create', { version: 3, manifest_path: 'x' }],
  ]
  for (const [route, body] of changes) {
    expect(await post(`/v1/table/v/${route}`, body), route).toEqual(errorOf('InvalidInput'))
  }
  const registered = await post('/v1/table/v/register', { location: 'other.lance', mode: 'Overwrite' })
  expect(registered.json).toMatchObject({
    error: expect.stringContaining('is a materialized view') as string,
  })
  const entries = [{ id: ['v'], version: 3, manifest_path: 'x' }]
  expect(await post('/v1/table/version/batch-create', { entries })).toEqual(errorOf('InvalidInput'))
  const operations = entries.map((entry) => ({ create_table_version: entry }))
  expect(await post('/v1/table/batch-commit', { operations })).toEqual(errorOf('InvalidInput'))
  expect(await rows()).toEqual(before)
  expect(await post('/v1/table/v/create_index', { column: 'id', index_type: 'BTREE' })).toMatchObject({
    status: 200,
  })
})

const refused: readonly (readonly [query: string, error: ErrorName])[] = [
  ['SELECT * FROM absent', 'TableNotFound'],
  ['SELECT * FROM absent.t', 'NamespaceNotFound'],
  ['SELECT absent FROM t', 'InvalidInput'],
  ['SELECT id AS x, name AS x FROM t', 'InvalidInput'],
  ['SELECT id AS _rowid FROM t', 'InvalidInput'],
  ['SELECT * FROM t WHERE absent = 1', 'InvalidInput'],
  ['SELECT * FROM t WHERE id', 'InvalidInput'],
  ['SELECT now() AS x FROM t', 'InvalidInput'],
  ['SELECT sum(id) AS s FROM t', 'Unsupported'],
  ["SELECT read_text('/etc/passwd') AS x FROM t", 'InvalidInput'],
  ['SELECT id FROM t WHERE true) OR (true', 'InvalidInput'],
  ['SELECT id FROM t WHERE id IN (SELECT id FROM t)', 'Unsupported'],
]

it('refuses queries that the engine cannot run, and creates nothing', async () => {
  const { post, create, views } = await withSource()
  for (const [query, error] of refused) expect(await create(query), query).toEqual(errorOf(error))
  expect(await post('/v1/materialized_view/absent$v/create', { query: selected })).toEqual(
    errorOf('NamespaceNotFound'),
  )
  expect(await post('/v1/materialized_view/t/create', { query: selected })).toEqual(
    errorOf('TableAlreadyExists'),
  )
  expect(await views()).toEqual({ views: [] })
})

it('refuses refreshes of missing views, versions and incarnations', async () => {
  const { post, create } = await withSource()
  await create(selected)
  const refresh = async (id: string, body: object) => await post(`/v1/materialized_view/${id}/refresh`, body)
  expect(await refresh('t', {})).toEqual(errorOf('TableNotFound'))
  expect(await refresh('absent', {})).toEqual(errorOf('TableNotFound'))
  expect(await refresh('v', { src_version: 9 })).toEqual(errorOf('TableVersionNotFound'))
  expect(await refresh('v', { src_version: 1, source_version: 2 })).toEqual(errorOf('InvalidInput'))
  expect(await refresh('v', { output_limit: 2 })).toEqual(errorOf('InvalidInput'))
  expect(await refresh('v', { expected_incarnation: 'x' })).toEqual(errorOf('ConcurrentModification'))
})
