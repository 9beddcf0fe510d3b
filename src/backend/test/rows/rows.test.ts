import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { tableFromIPC } from 'apache-arrow'
import { expect, it } from 'vitest'
import { eventually } from '../../../../test/support/eventually.ts'
import { orders, rowsOf, schemaOnly, streamOf } from '../engine/sample-tables.ts'
import { heldUpload } from '../support/held-upload.ts'
import { responseOf, errorOf, runningBackend } from '../support/running-backend.ts'

async function withTable(settings?: object) {
  const backend = await runningBackend(settings)
  await backend.post('/v1/table/t/create', streamOf(orders(3)))
  return backend
}

it('rows are appended, replaced and counted', async () => {
  const { post, get } = await withTable()
  expect(await post('/v1/table/t/insert', streamOf(orders(2, 3)))).toEqual(
    responseOf({ version: 2, num_inserted_rows: 2 }),
  )
  expect(await post('/v1/table/t/count_rows', { predicate: 'id >= 2' })).toEqual(responseOf(3))
  expect(await post('/v1/table/t/count_rows', { version: 1, predicate: null })).toEqual(responseOf(3))
  expect(await post('/v1/table/t/insert?mode=overwrite', streamOf(orders(1)))).toEqual(
    responseOf({ version: 3, num_inserted_rows: 1 }),
  )
  expect(await get('/v1/table/t/count_rows')).toEqual(responseOf(1))
  expect(await post('/v1/table/t/insert?mode=APPEND', schemaOnly())).toEqual(
    responseOf({ version: 3, num_inserted_rows: 0 }),
  )
})

it('returns an Arrow file for a query', async () => {
  const { post } = await withTable()
  const { status, bytes, headers } = await post('/v1/table/t/query', {
    k: 10,
    vector: null,
    filter: 'id > 0',
    columns: { column_names: ['id', 'name'] },
  })
  expect([status, headers.get('content-type')]).toEqual([200, 'application/vnd.apache.arrow.file'])
  expect(Buffer.from(bytes().subarray(0, 6)).toString()).toBe('ARROW1')
  expect(rowsOf(tableFromIPC(bytes()))).toEqual([
    { id: 1, name: 'order 1' },
    { id: 2, name: 'order 2' },
  ])
})

const missing = 'no\nthing'
const requestsForMissingColumn: readonly (readonly [path: string, body: object])[] = [
  ['query', { k: 1, columns: [missing] }],
  ['query', { k: 1, filter: `\`${missing}\` > 1` }],
  ['query', { k: 1, order_by: [{ column_name: missing }] }],
  ['query', { k: 1, vector: [1, 2], vector_column: missing }],
  ['query', { k: 1, full_text_query: { query: 'a', columns: [missing] } }],
  ['count_rows', { predicate: `\`${missing}\` > 1` }],
  ['update', { updates: [[missing, '1']] }],
  ['update', { updates: [['id', `\`${missing}\``]] }],
  ['delete', { predicate: `\`${missing}\` > 1` }],
  ['add_columns', { new_columns: [{ name: 'a', expression: `\`${missing}\`` }] }],
  ['alter_columns', { alterations: [{ path: missing, rename: 'a' }] }],
  ['drop_columns', { columns: [missing] }],
  ['update_field_metadata', { updates: [{ path: missing, metadata: { a: 'b' } }] }],
  ['create_index', { column: missing, index_type: 'BTREE', name: 'a' }],
  ['explain_plan', { query: { k: 1, columns: [missing] } }],
]

it('names a missing column in a 400, because clients take a 404 for a missing table', async () => {
  const { post } = await withTable()
  for (const [path, body] of requestsForMissingColumn) {
    const response = await post(`/v1/table/t/${path}`, body)
    expect([path, response]).toEqual([path, errorOf('InvalidInput', 400)])
    expect((response.json as { error: string }).error).toContain(String.raw`no\nthing`)
  }
  const merge = await post('/v1/table/t/merge_insert?on=no%0Athing', streamOf(orders(1)))
  expect(merge).toEqual(errorOf('InvalidInput', 400))
  expect((merge.json as { error: string }).error).toContain(String.raw`no\nthing`)
})

it('loses no row of concurrent appends', async () => {
  const { post } = await withTable()
  const responses = await Promise.all(
    Array.from({ length: 12 }, () => post('/v1/table/t/insert', streamOf(orders(5)))),
  )
  expect(responses.every(({ status }) => status === 200)).toBe(true)
  expect(await post('/v1/table/t/count_rows', {})).toEqual(responseOf(63))
})

it('rejects an upload above the limit with 413, announced or not', async () => {
  const stream = streamOf(orders(3))
  const { post, url } = await withTable({ limits: { maxUploadBytes: stream.length } })
  expect((await post('/v1/table/t/insert', stream)).status).toBe(200)
  const larger = streamOf(orders(30))
  expect(await post('/v1/table/t/insert', larger)).toEqual(errorOf('InvalidInput', 413))
  const chunked = await fetch(`${url()}/v1/table/t/insert`, {
    method: 'POST',
    body: new Blob([larger]).stream(),
    duplex: 'half',
  })
  expect({ status: chunked.status, body: await chunked.json() }).toMatchObject({
    status: 413,
    body: {
      error: expect.stringMatching(
        /\(limits\.maxUploadBytes of the bundled catalog, or --max-upload of dev\)$/,
      ),
    },
  })
  expect(await post('/v1/table/t/count_rows', {})).toEqual(responseOf(6))
})

it('rejects an upload beyond the memory budget with 503, and releases memory', async () => {
  const stream = streamOf(orders(3))
  const limits = { maxUploadBytes: stream.length, maxUploadMemoryBytes: stream.length }
  const backend = await withTable({ limits })
  const { post } = backend
  for (const ending of ['whole', 'cut short']) {
    const slow = await heldUpload(backend, stream.length)
    slow.write(stream.subarray(1, 100))
    expect(await post('/v1/table/t/insert', stream)).toEqual(errorOf('ServiceUnavailable'))
    if (ending === 'whole') {
      slow.end(stream.subarray(100))
      const [response] = (await once(slow, 'response')) as [IncomingMessage]
      expect(response.statusCode).toBe(200)
      response.resume()
    } else {
      slow.destroy()
    }
    await eventually(async () => expect((await post('/v1/table/t/insert', stream)).status).toBe(200))
  }
})
