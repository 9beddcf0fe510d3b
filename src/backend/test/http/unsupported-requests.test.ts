import { readFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { getOperation } from '../../../catalog-api/operations.ts'
import { sampleRequests } from '../../../../test/conformance/sample-requests.ts'
import { orders, streamOf } from '../engine/sample-tables.ts'
import { backendWithTable, errorOf } from '../support/running-backend.ts'
import { unsupportedOperations } from '../../catalog/catalog-operations.ts'

type SentRequest = readonly [target: string, body?: unknown]

const addColumns = (...new_columns: object[]): SentRequest => ['/v1/table/t/add_columns', { new_columns }]
const query = (body: object): SentRequest => ['/v1/table/t/query', { k: 1, ...body }]
const searchText = { full_text_query: { string_query: { query: 'x', columns: ['name'] } } }
const match = (terms: string) => ({ terms, column: 'name' })

/** Requests for each line of the list in docs/catalog.md. */
const unsupported: Readonly<Record<string, readonly SentRequest[]>> = {
  [`the operations ${unsupportedOperations.map((name) => `\`${name}\``).join(', ')}`]:
    unsupportedOperations.map((name) => {
      const { method, object, path } = getOperation(name)
      const { body = {}, query = {} } = sampleRequests[name] ?? {}
      const parameters = Object.entries(query).map(([parameter, value]) => `${parameter}=${String(value)}`)
      const target = path.replace('{id}', object === 'transaction' ? 't$1' : 't').replaceAll(/\{\w+\}/g, '7')
      return [`${method} ${target}?${parameters.join('&')}`, body]
    }),
  '`virtual_column` in AlterTableAddColumns and AlterTableAlterColumns': [
    addColumns({
      name: 'x',
      virtual_column: {
        input_columns: ['id'],
        outputs: [],
        image: 'i',
        udf: 'AAAA',
        udf_name: 'f',
        udf_version: '1',
      },
    }),
    ['/v1/table/t/alter_columns', { alterations: [{ path: 'id', virtual_column: {} }] }],
  ],
  '`expression` and `computed` columns in one request': [
    addColumns({ name: 'x', expression: 'id' }, { name: 'y', computed: 'id' }),
  ],
  'a `read_version` of AlterTableBackfillColumns that is not the newest version': [
    ['/v1/table/t/backfill_column', { column: 'computed', read_version: 1 }],
  ],
  'QueryJobEvents without `job_id`, or with a `filter`': [
    ['/v1/jobs/query_events', {}],
    ['/v1/jobs/query_events', { job_id: 'a-job', filter: "state = 'DONE'" }],
  ],
  'subqueries, aggregates and window functions in any expression': [
    query({ filter: 'id IN (SELECT id FROM t)' }),
    query({ columns: { x: 'sum(id)' } }),
    query({ columns: { x: 'row_number() OVER ()' } }),
    addColumns({ name: 'x', expression: '(SELECT 1)' }),
    addColumns({ name: 'x', computed: 'max(id)' }),
    ['/v1/table/t/update', { updates: [['id', '(SELECT 1)']] }],
    ['/v1/table/t/delete', { predicate: 'id = (SELECT 1)' }],
    ['/v1/table/t/backfill_column', { column: 'computed', where: 'id = (SELECT 1)' }],
  ],
  'indexes of the types `NGRAM`, `ZONEMAP`, `BLOOMFILTER`, `RTREE`, `IVF_SQ` and `IVF_HNSW_FLAT`': [
    'NGRAM',
    'ZONEMAP',
    'BLOOMFILTER',
    'RTREE',
    'IVF_SQ',
    'IVF_HNSW_FLAT',
  ].map((index_type) => ['/v1/table/t/create_index', { column: 'id', index_type }]),
  'text indexes with `custom_stop_words`, or with another `lance_tokenizer`, `document_granularity`, `split_identifiers`, `split_on_numerics`, `preserve_original` or `index_operators` than the default':
    [
      { custom_stop_words: [] },
      { lance_tokenizer: 'json' },
      { document_granularity: 'list_element' },
      { split_identifiers: true },
      { split_on_numerics: true },
      { preserve_original: true },
      { index_operators: true },
    ].map((members) => ['/v1/table/t/create_index', { column: 'name', index_type: 'FTS', ...members }]),
  '`upload_id` in InsertIntoTable': [
    ['/v1/table/t/insert?upload_id=u', streamOf(orders(1))],
    ['/v1/table/t/insert?mode=overwrite&upload_id=u&upload_part_id=p', streamOf(orders(1))],
  ],
  '`use_rte` and `use_lsm` in MergeInsertIntoTable': [
    ['/v1/table/t/merge_insert?on=id&use_rte=true', streamOf(orders(1))],
    ['/v1/table/t/merge_insert?on=id&use_lsm=true', streamOf(orders(1))],
  ],
  '`use_rte`, `use_lsm`, `approx_mode` and `search_effort` in a query': [
    query({ use_rte: true }),
    query({ use_lsm: true }),
    query({ approx_mode: 'fast' }),
    query({ search_effort: 0.5 }),
  ],
  'a `document_granularity` in a search by text other than `row`': [
    { match: { ...match('x'), document_granularity: 'list_element' } },
    { phrase: { ...match('x'), document_granularity: 'list_element' } },
    { multi_match: { match_queries: [{ ...match('x'), document_granularity: 'list_element' }] } },
  ].map((structured) => query({ full_text_query: { structured_query: { query: structured } } })),
  'a search by text with several vectors; or with one vector and `offset` or `order_by`': [
    query({
      ...searchText,
      vector: [
        [1, 2],
        [3, 4],
      ],
    }),
    query({ ...searchText, vector: [1, 2], offset: 1 }),
    query({ ...searchText, vector: [1, 2], order_by: [{ column_name: 'id' }] }),
  ],
  '`multi_match` with different terms or operators': [
    query({
      full_text_query: {
        structured_query: { query: { multi_match: { match_queries: [match('a'), match('b')] } } },
      },
    }),
  ],
  '`storage_options` in CreateTable': [
    [`/v1/table/u/create?storage_options=${encodeURIComponent('{"a":"b"}')}`, streamOf(orders(1))],
  ],
}

it('the documentation lists exactly these unsupported requests', async () => {
  const text = await readFile(new URL('../../../../docs/catalog.md', import.meta.url), 'utf8')
  const list = text.split('These requests get 406:\n\n')[1]?.split('\n\n')[0] ?? ''
  const lines = list.split(/\n?^- /m).slice(1)
  expect(lines.map((line) => line.replaceAll(/\s+/g, ' '))).toEqual(Object.keys(unsupported))
})

it('each of them gets 406', async () => {
  const { send, post } = await backendWithTable()
  const [target, body] = addColumns({ name: 'computed', computed: 'id' })
  expect(await post(target, body)).toMatchObject({ status: 200 })
  for (const [line, requests] of Object.entries(unsupported)) {
    for (const [request, sent] of requests) {
      const [path = '', method = 'POST'] = request.split(' ').toReversed()
      expect(await send(method, path, method === 'GET' ? undefined : sent), `${line}: ${request}`).toEqual(
        errorOf('Unsupported'),
      )
    }
  }
  expect(await post('/v1/table/t/count_rows', {})).toMatchObject({ status: 200, json: 3 })
})
