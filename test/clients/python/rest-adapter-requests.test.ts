import { tableFromIPC } from 'apache-arrow'
import { expect, inject, it } from 'vitest'
import { rows } from '../../conformance/sample-rows.ts'
import { startGatewayBefore } from '../../gateway/support/running-gateway.ts'
import { adapterEnvironment, startRestAdapter } from './rest-adapter.ts'

interface SentRequest {
  readonly method: string
  readonly target: string
  readonly body?: string | Uint8Array
}

function get(target: string): SentRequest {
  return { method: 'GET', target }
}

/** A request with a JSON body, or with one in the exact spelling. */
function post(target: string, body: object | string = {}): SentRequest {
  return { method: 'POST', target, body: typeof body === 'string' ? body : JSON.stringify(body) }
}

function postRows(target: string, body: Uint8Array = rows(3)): SentRequest {
  return { method: 'POST', target, body }
}

const orders = '/v1/table/sales$orders'
const nearest = { k: 2, vector: { single_vector: [1, 1] }, vector_column: 'embedding' }
const merge = 'on=id&when_matched_update_all=true&when_not_matched_insert_all=true'

/** In order: later requests need the objects of earlier ones. */
const forwarded: readonly SentRequest[] = [
  post('/v1/namespace/sales/create', { properties: { owner: 'ann' } }),
  post('/v1/namespace/sales/create'),
  post('/v1/namespace/sales$eu/create?delimiter=%24', { id: ['sales', 'eu'] }),
  post('/v1/namespace/sales.us/create?delimiter=.'),
  post('/v1/namespace/absent$x/create'),
  get('/v1/namespace/$/list'),
  get('/v1/namespace/%24/list'),
  get('/v1/namespace/sales/list'),
  get('/v1/namespace/sales/list?limit=1'),
  post('/v1/namespace/sales/describe'),
  post('/v1/namespace/absent/describe'),
  post('/v1/namespace/sales/exists'),
  post('/v1/namespace/absent/exists'),
  postRows('/v1/table/plain/create'),
  postRows(`${orders}/create`),
  postRows(`${orders}/create`),
  postRows(`${orders}/create?mode=ExistOk`),
  postRows(`${orders}/create?mode=exist_ok`),
  postRows(`${orders}/create?mode=overwrite`),
  postRows('/v1/table/sales%24a%20b/create'),
  postRows('/v1/table/sales$a+b/create'),
  postRows('/v1/table/sales$%C3%A9t%C3%A9/create'),
  get('/v1/namespace/sales/table/list'),
  get('/v1/namespace/sales/table/list?limit=2'),
  get('/v1/table'),
  get('/v1/table/?limit=1'),
  post(`${orders}/describe`),
  post(`${orders}/describe/`),
  post(`${orders}/describe`, { id: ['sales', 'orders'] }),
  post('/v1/table/sales::orders/describe?delimiter=::'),
  post('/v1/table/sales$a+b/describe'),
  post(`${orders}/describe?with_table_uri=true`, { with_table_uri: false, check_declared: false }),
  post(`${orders}/describe`, { load_detailed_metadata: true }),
  post(`${orders}/describe`, { version: 9 }),
  post('/v1/table/sales$absent/describe'),
  post(`${orders}/exists`),
  post('/v1/table/sales$absent/exists'),
  postRows(`${orders}/insert`),
  postRows(`${orders}/insert?mode=overwrite`),
  postRows(`${orders}/insert?mode=append`),
  postRows('/v1/table/sales$absent/insert'),
  postRows(`${orders}/merge_insert?${merge}`),
  post(`${orders}/count_rows`),
  post(`${orders}/count_rows`, { predicate: 'id > 0' }),
  post(`${orders}/count_rows`, { predicate: 'id >' }),
  post(`${orders}/query`, nearest),
  post(`${orders}/query`, { ...nearest, filter: 'id > 0' }),
  post(`${orders}/query`, { ...nearest, columns: { column_names: ['id'], column_aliases: {} } }),
  post(`${orders}/query`, { ...nearest, vector: { single_vector: [1, 1], multi_vector: [] } }),
  post(`${orders}/query`, { ...nearest, version: 1 }),
  post(`${orders}/query`, { ...nearest, filter: 'absent = 1' }),
  post(`${orders}/explain_plan`, { query: nearest }),
  post(`${orders}/update`, { predicate: 'id = 1', updates: [['name', "'x'"]] }),
  post(`${orders}/delete`, { predicate: 'id = 2' }),
  post(`${orders}/add_columns`, { new_columns: [{ name: 'twice', expression: 'id * 2' }] }),
  post(`${orders}/alter_columns`, { alterations: [{ path: 'twice', rename: 'double' }] }),
  post(`${orders}/drop_columns`, { columns: ['double'] }),
  post(`${orders}/schema_metadata/update`, { owner: 'ann' }),
  post(`${orders}/stats`),
  post(`${orders}/version/list`),
  post(`${orders}/version/list?descending=true&limit=2`),
  { method: 'POST', target: `${orders}/version/list` },
  post(`${orders}/version/describe`, { version: 1 }),
  post(`${orders}/version/describe`, { version: 99 }),
  post(`${orders}/restore`, { version: 1 }),
  post(`${orders}/restore`, { version: 99 }),
  post(`${orders}/create_index`, { column: 'id', index_type: 'BTREE', name: 'by_id' }),
  post(`${orders}/create_scalar_index`, { column: 'id', index_type: 'BTREE', name: 'scalar' }),
  post(`${orders}/index/list`),
  post(`${orders}/index/by_id/stats`),
  post(`${orders}/index/absent/stats`),
  post(`${orders}/index/by_id/drop`),
  post(`${orders}/tags/create`, { tag: 'first', version: 1 }),
  post(`${orders}/tags/create`, { tag: 'first', version: 1 }),
  post(`${orders}/tags/list`),
  post(`${orders}/tags/version`, { tag: 'first' }),
  post(`${orders}/tags/version`, { tag: 'absent' }),
  post(`${orders}/tags/update`, { tag: 'first', version: 2 }),
  post(`${orders}/tags/delete`, { tag: 'first' }),
  post(`${orders}/branches/create`, { name: 'work' }),
  post(`${orders}/branches/list`),
  postRows(`${orders}/insert?branch=work`),
  post(`${orders}/count_rows`, { branch: 'work' }),
  post(`${orders}/branches/delete`, { name: 'work' }),
  post('/v1/table/sales$declared/declare'),
  post('/v1/table/sales$declared/describe', { check_declared: true }),
  post('/v1/table/sales$declared/deregister'),
  post('/v1/transaction/sales$orders$1/describe'),
  post(`${orders}/version/delete`, { ranges: [{ start_version: 1, end_version: 2 }] }),
  post('/v1/namespace/sales/drop'),
  post('/v1/namespace/sales$eu/drop'),
  post(`${orders}/drop`),
  { method: 'POST', target: `${orders}/drop` },
]

const inOtherWords = 'the gateway refuses it as the adapter does, in its own words'
const lacking = 'the adapter says of operations that it lacks that they failed'
const sentAsPost = 'clients of other versions send GET, the adapter requires POST'

/** Requests that the gateway does not forward as they are, with the statuses of the adapter and of the gateway. */
const changed: readonly (readonly [reason: string, request: SentRequest, direct: number, through: number])[] =
  [
    [inOtherWords, postRows('/v1/table/plain/create?mode=none'), 400, 400],
    [inOtherWords, postRows('/v1/table/plain/insert?mode=none'), 400, 400],
    [inOtherWords, postRows('/v1/table/plain/merge_insert'), 400, 400],
    [inOtherWords, post('/v1/table/plain/describe', { id: ['other'] }), 400, 400],
    [inOtherWords, post('/v1/table/plain/describe', '{'), 400, 400],
    [inOtherWords, post('/v1/table/plain/describe', '{"version":1,"version":2}'), 400, 400],
    ['LanceDB reports every 404 as a missing table', get('/v1/nothing'), 404, 406],
    [inOtherWords, { method: 'DELETE', target: '/v1/table/plain/describe' }, 405, 405],
    ['a quote may end a text in SQL', post('/v1/table/it%27s/describe'), 404, 400],
    ['the adapter splits a name at `$`', post('/v1/table/a$b/describe?delimiter=.'), 404, 400],
    ['an upstream might know it', post('/v1/table/plain/describe?unknown=1'), 200, 400],
    [
      'a commit names a staged manifest of its table',
      post('/v1/table/plain/version/create', { version: 2, manifest_path: 'else/where' }),
      400,
      400,
    ],
    [
      'an upload is an Arrow stream',
      postRows('/v1/table/no%20rows/create', Buffer.from('no Arrow')),
      500,
      400,
    ],
    ['the name of the operation in earlier clients', post('/v1/table/empty/create-empty'), 404, 200],
    [
      'the adapter refuses a call without a body',
      { method: 'POST', target: '/v1/table/plain/describe' },
      400,
      200,
    ],
    [
      lacking,
      post('/v1/table/plain/update_field_metadata', { updates: [{ path: 'id', metadata: { a: 'b' } }] }),
      500,
      406,
    ],
    [lacking, post('/v1/table/plain/rename', { new_table_name: 'renamed' }), 500, 406],
    [
      lacking,
      post('/v1/table/batch-commit', { operations: [{ declare_table: { id: ['plain_batch'] } }] }),
      500,
      406,
    ],
    [lacking, post('/v1/materialized_view/view/refresh'), 500, 406],
    [sentAsPost, get('/v1/table/plain/tags/list'), 405, 200],
    [sentAsPost, get('/v1/table/plain/count_rows'), 405, 200],
    [sentAsPost, get('/v1/table/plain/stats'), 405, 200],
    [sentAsPost, get('/v1/table/plain/index/list'), 405, 200],
  ]

it('requests mean the same to the REST adapter through the gateway as they do directly', async ({ skip }) => {
  skip(!inject('installedClients').includes(adapterEnvironment), `${adapterEnvironment} is not installed`)
  const [direct, behind] = await Promise.all([startRestAdapter(), startRestAdapter()])
  const gateway = await startGatewayBefore(behind.url)
  const headers = { 'x-api-key': gateway.key('dev') }
  const sendBoth = (request: SentRequest) =>
    Promise.all([send(direct.url, request), send(gateway.url, request, headers)])

  let succeeded = 0
  for (const request of forwarded) {
    const [expected, found] = await sendBoth(request)
    if (expected.ok) succeeded += 1
    const what = `${request.method} ${request.target} ${String(request.body)}`
    expect
      .soft(await comparable(found, behind.folder), what)
      .toEqual(await comparable(expected, direct.folder))
  }
  // Equal errors alone would show little.
  expect(succeeded).toBeGreaterThan(70)
  for (const [reason, request, statusDirect, statusThrough] of changed) {
    const [expected, found] = await sendBoth(request)
    expect
      .soft([expected.status, found.status], `${request.target}: ${reason}`)
      .toEqual([statusDirect, statusThrough])
  }
})

async function send(url: string, { method, target, body }: SentRequest, headers = {}): Promise<Response> {
  const type = typeof body === 'string' ? 'application/json' : 'application/vnd.apache.arrow.stream'
  return fetch(url + target, {
    method,
    headers: { ...(body !== undefined && { 'content-type': type }), ...headers },
    ...(body !== undefined && { body }),
  })
}

/** The meaning of a response: without what differs between two runs, or what the gateway never passes on. */
async function comparable(response: Response, folder: string): Promise<object> {
  const { status } = response
  const type = response.headers.get('content-type')
  const bytes = Buffer.from(await response.arrayBuffer())
  if (type === 'application/vnd.apache.arrow.file') {
    return { status, type, rows: tableFromIPC(bytes).toArray().map(String) }
  }
  if (type !== 'application/json') return { status, type, text: bytes.toString() }
  const body = JSON.parse(withoutVolatileParts(bytes.toString(), folder)) as Record<string, unknown>
  if (response.ok) return { status, type, body }
  // The message of a failure, and the paths in others, may show the inside of the upstream.
  const message = status < 500 && String(body['error']).replaceAll(/(file:\/)?\/[^\s',]+|\[path\]/g, 'PATH')
  return { status, type, code: body['code'], message }
}

/** Replaces names of folders and files, times, tokens, and sizes of files that contain times. */
function withoutVolatileParts(text: string, folder: string): string {
  return text
    .replaceAll(encodeURI(folder), '/ROOT')
    .replaceAll(folder.slice(1), 'ROOT')
    .replaceAll(/ROOT\/[0-9a-f]{8}_/g, 'ROOT/')
    .replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, 'UUID')
    .replaceAll(/"(e_tag|created_at|page_token)":"(\\.|[^"\\])*"/g, '"$1":"ANY"')
    .replaceAll(/"(timestamp_millis|createAt|manifest_?[sS]ize|total_bytes)":\d+/g, '"$1":0')
}
