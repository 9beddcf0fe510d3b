import { once } from 'node:events'
import { request, type ClientRequest, type IncomingMessage } from 'node:http'
import { expect, it, vi } from 'vitest'
import { eventually } from '../../../../test/support/eventually.ts'
import { orders, streamOf } from '../engine/sample-tables.ts'
import { responseOf, errorOf, runningBackend } from '../support/running-backend.ts'

async function withTable(settings?: object) {
  const backend = await runningBackend(settings)
  await backend.post('/v1/table/t/create', streamOf(orders(3)))
  return backend
}

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

/** Begins an insert into the table `t` that takes all memory for Arrow data, and sends the first byte of its body. */
async function heldUpload(
  { url, post }: Pick<Awaited<ReturnType<typeof runningBackend>>, 'url' | 'post'>,
  bytes: number,
): Promise<ClientRequest> {
  // The upload that asks may be first.
  return await vi.waitFor(
    async () => {
      const headers = { expect: '100-continue', 'content-length': bytes }
      const held = request(`${url()}/v1/table/t/insert`, { method: 'POST', headers }).on('error', () => {})
      held.flushHeaders()
      try {
        await once(held, 'continue')
        held.write(Buffer.from([255]))
        const refused = errorOf('ServiceUnavailable')
        await expect.poll(() => post('/v1/table/t/insert', new Uint8Array(1))).toEqual(refused)
        return held
      } catch (error) {
        held.destroy()
        throw error
      }
    },
    { timeout: 10_000 },
  )
}

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
