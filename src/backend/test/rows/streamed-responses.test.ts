import { once } from 'node:events'
import { request, type IncomingMessage } from 'node:http'
import { tableFromIPC } from 'apache-arrow'
import { expect, it } from 'vitest'
import { orders, streamOf } from '../engine/sample-tables.ts'
import { responseOf, runningBackend } from '../support/running-backend.ts'

async function withLargeTable() {
  const backend = await runningBackend()
  await backend.post('/v1/table/t/create', streamOf(orders(100_000)))
  return backend
}

/** Requests all rows; returns the response unread. */
async function openQuery(url: string): Promise<IncomingMessage> {
  const query = request(`${url}/v1/table/t/query`, { method: 'POST' })
  query.end('{"k":9223372036854775807,"vector":[]}')
  const [response] = (await once(query, 'response')) as [IncomingMessage]
  return response
}

it('survives a client that disconnects during a response', async () => {
  const { url, get } = await withLargeTable()
  for (let round = 0; round < 10; round += 1) {
    const response = await openQuery(url())
    await once(response, 'readable')
    response.destroy()
  }
  expect(await get('/v1/table/t/count_rows')).toEqual(responseOf(100_000))
})

it('drains active responses when closing', async () => {
  const { url, stop } = await withLargeTable()
  const response = await openQuery(url())
  const stopped = stop()
  const chunks: Buffer[] = []
  for await (const chunk of response as AsyncIterable<Buffer>) chunks.push(chunk)
  await stopped
  expect(tableFromIPC(Buffer.concat(chunks)).numRows).toBe(100_000)
})
