import { expect, it } from 'vitest'
import { readRaw } from '../../../../test/gateway/support/raw-request.ts'
import { getOperation, operationNames } from '../../../catalog-api/operations.ts'
import { orders, streamOf } from '../engine/sample-tables.ts'
import { responseOf, errorOf, runningBackend } from '../support/running-backend.ts'

/** Of every operation with an Arrow stream; on an existing table, all succeed. */
const uploadTargets = operationNames.flatMap((name) => {
  const { body, path } = getOperation(name)
  const queries: Partial<Record<string, string>> = {
    MergeInsertIntoTable: '?on=id',
    CreateTable: '?mode=Overwrite',
  }
  return body === 'arrow' ? [path.replace('{id}', 't') + (queries[name] ?? '')] : []
})

it('rejects a body that contradicts the query parameters', async () => {
  const { post } = await runningBackend()
  const differing: [path: string, body: object][] = [
    ['describe?check_declared=true', { check_declared: false }],
    ['version/list?limit=1', { limit: 2 }],
    ['version/list?branch=dev', { branch: 'main' }],
    ['tags/list?page_token=a', { page_token: 'b' }],
    ['index/i/drop?branch=dev', { branch: 'main' }],
    ['schema_metadata/update?branch=dev', { branch: 'main', metadata: { a: 'b' } }],
  ]
  for (const [path, body] of differing) {
    expect(await post(`/v1/table/t/${path}`, body), path).toEqual(errorOf('InvalidInput'))
  }
  for (const [path, body] of [
    ['describe?check_declared=true', { check_declared: true }],
    ['version/list?limit=1', { limit: 1 }],
    ['version/list?limit=1', { limit: null }],
  ] as const) {
    expect(await post(`/v1/table/t/${path}`, body), path).toEqual(errorOf('TableNotFound'))
  }
})

it('a malformed envelope is refused', async () => {
  const { post } = await runningBackend()
  const envelopes = [{ context: 7 }, { context: { a: 1 } }, { identity: 'x' }, { identity: { api_key: 7 } }]
  for (const envelope of envelopes)
    for (const path of ['describe', 'query', 'drop']) {
      const response = await post(`/v1/table/t/${path}`, { k: 1, vector: [], ...envelope })
      expect(response).toEqual(errorOf('InvalidInput'))
    }
})

it.each([
  'application/vnd.apache.arrow.file',
  'application/vnd.apache.arrow.streams',
  'application/json',
  'application/x-parquet',
  'text/plain; application/vnd.apache.arrow.stream',
])('an operation with rows refuses the content type %s, before it reads them', async (type) => {
  const { post } = await runningBackend()
  for (const target of uploadTargets) {
    const response = await post(target, streamOf(orders(3)), { 'content-type': type })
    expect(response, target).toEqual(errorOf('InvalidInput'))
    expect((response.json as { error: string }).error).toContain(type)
  }
  expect(await post('/v1/table/t/exists')).toEqual(errorOf('TableNotFound'))
})

const query = '/v1/table/t/query'
const form = (member: string) => `invalid member "${member}" of the request: `

const invalid: readonly [target: string, body: object, says: string][] = [
  ['/v1/namespace/a/create', { properties: { x: 1 } }, '"properties.x"'],
  ['/v1/namespace/a/create', { mode: 7 }, '"mode"'],
  ['/v1/table/t/describe', { version: '1' }, '"version"'],
  ['/v1/table/t/describe', { check_declared: 'yes' }, '"check_declared"'],
  ['/v1/table/t/version/create', { version: 1 }, '"manifest_path"'],
  [query, { vector: 'abc' }, `${form('vector')}expected {"single_vector": numbers} or`],
  [query, { vector: ['a'] }, `${form('vector')}expected {"single_vector": numbers} or`],
  [query, { vector: { single_vector: ['a'] } }, form('vector.single_vector.0')],
  [query, { columns: 'abc' }, `${form('columns')}expected {"column_names": names} or`],
  [query, { full_text_query: { query: { search: {} } } }, 'exactly one of match, phrase, boost, multi_match'],
  [
    query,
    { full_text_query: { query: { match: { terms: 5 } } } },
    `${form('full_text_query.query.match.terms')}Invalid input: expected string`,
  ],
  [
    '/v1/materialized_view/v/create',
    {},
    'invalid request: expected kind, source_query and output_schema, or query',
  ],
  [
    '/v1/table/t/explain_plan',
    { branch: 'a', query: { branch: 'b', k: 1 } },
    'invalid request: expected one branch, not two',
  ],
]

it('names the invalid member, and says what is expected', async () => {
  const { post } = await runningBackend()
  for (const [target, body, says] of invalid) {
    const response = await post(target, target === query ? { k: 1, ...body } : body)
    expect(response).toEqual(errorOf('InvalidInput'))
    expect((response.json as { error: string }).error).toContain(says)
  }
})

it('rejects a body that is too large, compressed, or not plain UTF-8', async () => {
  const { post } = await runningBackend({ limits: { maxJsonBytes: 100_000 } })
  const describe = (body: string | Uint8Array, headers?: Record<string, string>) =>
    post('/v1/namespace/$/describe', body, headers)
  for (const body of ['\uFEFF{}', Uint8Array.of(0x22, 0xff, 0x22)]) {
    expect(await describe(body)).toEqual(errorOf('InvalidInput'))
  }
  expect(await describe(`{"x":"${'y'.repeat(100_000)}"}`)).toEqual(errorOf('InvalidInput', 413))
  expect(await describe('{}', { 'content-encoding': 'gzip' })).toEqual(errorOf('InvalidInput', 415))
})

it('refuses invalid HTTP', async () => {
  const { url } = await runningBackend()
  expect(String(await readRaw(url(), 'nonsense\r\n\r\n'))).toMatch(/^HTTP\/1\.1 400 /)
})

it('keeps a request id that can be logged, otherwise assigns one', async () => {
  const { get } = await runningBackend()
  const own = await get('/v1/nothing', { 'x-request-id': 'mine-1' })
  expect(own.json).toMatchObject({ instance: 'mine-1' })
  expect(own.headers.get('x-request-id')).toBe('mine-1')
  const long = await get('/v1/nothing', { 'x-request-id': 'x'.repeat(129) })
  expect(long.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/)
})

it('requires the configured access token, except for health checks', async () => {
  const accessToken = 'correct horse battery staple'.replaceAll(' ', '-')
  const { get, url } = await runningBackend({ accessToken })
  for (const authorization of [accessToken, `Basic ${accessToken}`, `Bearer ${accessToken}x`, 'Bearer '])
    expect(await get('/v1/table', { authorization })).toEqual(errorOf('Unauthenticated'))
  for (const scheme of ['Bearer', 'bearer', 'BEARER']) {
    expect(await get('/v1/table', { authorization: `${scheme} ${accessToken}` })).toEqual(
      responseOf({ tables: [] }),
    )
  }
  expect((await fetch(`${url()}/livez`)).status).toBe(200)
})
