import { once } from 'node:events'
import { type ClientRequest, type IncomingMessage, request } from 'node:http'
import { Int32, Table, tableFromIPC, vectorFromArray } from 'apache-arrow'
import { expect, it, vi } from 'vitest'
import { eventually } from '../../../../test/support/eventually.ts'
import { isThorough } from '../../../../test/support/thorough.ts'
import { orders, streamOf } from '../engine/sample-tables.ts'
import { backendWithTable, errorOf, responseOf, runningBackend } from '../support/running-backend.ts'

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
  const { post } = await backendWithTable()
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
  const { post, url } = await backendWithTable(orders(3), { limits: { maxUploadBytes: stream.length } })
  expect((await post('/v1/table/t/insert', stream)).status).toBe(200)
  const larger = streamOf(orders(30))
  expect(await post('/v1/table/t/insert', larger)).toEqual(errorOf('InvalidInput', 413))
  const chunked = await fetch(`${url()}/v1/table/t/insert`, {
    method: 'POST',
    body: new Blob([larger]).stream(),
    duplex: 'half',
  })
  expect(chunked.status).toBe(413)
  expect(await chunked.text()).toContain('(limits.maxUploadBytes of the bundled catalog)')
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
  const backend = await backendWithTable(orders(3), { limits })
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

/** Requests all rows; returns the response unread. */
async function openQuery(url: string): Promise<IncomingMessage> {
  const query = request(`${url}/v1/table/t/query`, { method: 'POST' })
  query.end('{"k":9223372036854775807,"vector":[]}')
  const [response] = (await once(query, 'response')) as [IncomingMessage]
  return response
}

it('survives a client that disconnects during a response', async () => {
  const { url, get } = await backendWithTable(orders(100_000))
  for (let round = 0; round < 10; round += 1) {
    const response = await openQuery(url())
    await once(response, 'readable')
    response.destroy()
  }
  expect(await get('/v1/table/t/count_rows')).toEqual(responseOf(100_000))
})

it('drains active responses when closing', async () => {
  const { url, stop } = await backendWithTable(orders(100_000))
  const response = await openQuery(url())
  const stopped = stop()
  const chunks: Buffer[] = []
  for await (const chunk of response as AsyncIterable<Buffer>) chunks.push(chunk)
  await stopped
  expect(tableFromIPC(Buffer.concat(chunks)).numRows).toBe(100_000)
})

const clients = isThorough ? 8 : 4
const changes = isThorough ? 4 : 2

function counters(ids: readonly number[]): Uint8Array {
  const n = ids.map(() => 0)
  return streamOf(new Table({ id: vectorFromArray(ids, new Int32()), n: vectorFromArray(n, new Int32()) }))
}

/** Makes changes of all clients at the same time, each as soon as its client has a response; returns the statuses. */
async function race(change: (client: number) => Promise<{ status: number }>): Promise<readonly number[]> {
  const statuses: number[] = []
  await Promise.all(
    Array.from({ length: clients }, async (_, client) => {
      for (let made = 0; made < changes; made += 1) statuses.push((await change(client)).status)
    }),
  )
  return statuses
}

it('no racing update, merge, insert or delete fails or is lost', async () => {
  const { post } = await runningBackend()
  await post('/v1/table/t/create', counters([0]))
  const all = Array.from({ length: clients * changes }, () => 200)
  const merge = '/v1/table/t/merge_insert?on=id&when_matched_update_all=true&when_not_matched_insert_all=true'
  const [updated, merged, inserted] = await Promise.all([
    race(() => post('/v1/table/t/update', { predicate: 'id = 0', updates: [['n', 'n + 1']] })),
    race((client) => post(merge, counters([100 + client]))),
    race((client) => post('/v1/table/t/insert', counters([200 + client]))),
  ])
  expect([updated, merged, inserted]).toEqual([all, all, all])
  const count = async (predicate: string) => (await post('/v1/table/t/count_rows', { predicate })).json
  expect(await count(`id = 0 AND n = ${clients * changes}`)).toBe(1)
  expect(await count('id >= 100 AND id < 200')).toBe(clients)
  expect(await count('id >= 200')).toBe(clients * changes)
  expect(await race((client) => post('/v1/table/t/delete', { predicate: `id = ${200 + client}` }))).toEqual(
    all,
  )
  expect(await count('id >= 200')).toBe(0)
})
