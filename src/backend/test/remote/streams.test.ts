import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { tableFromIPC } from 'apache-arrow'
import { expect, onTestFinished, it } from 'vitest'
import { request } from 'undici'
import { arrowFileType } from '../../../catalog-api/headers.ts'
import {
  startRecordingUpstream,
  type RecordingUpstream,
} from '../../../../test/gateway/support/recording-upstream.ts'
import { createDeferred, waitUntilStable } from '../../../../test/gateway/support/waiting.ts'
import { orders, streamOf } from '../engine/sample-tables.ts'
import { runningBackend } from '../support/running-backend.ts'
import { runningAdapter } from './running-adapter.ts'
import { eventually } from '../../../../test/support/eventually.ts'

const piece = Buffer.alloc(64 * 1024, 7)
/** More than all buffers on the path hold together. */
const muchBytes = 64 * 1024 * 1024

async function remoteAndAdapter() {
  const upstream = await startRecordingUpstream()
  onTestFinished(() => upstream.close())
  return { upstream, ...(await runningAdapter(upstream.url)) }
}

function query(url: string) {
  const sent = httpRequest(`${url}/v1/table/t/query`, { method: 'POST' })
  sent.end('{"k":1,"vector":[]}')
  return sent
}

/** Responds endlessly with backpressure; reports the bytes sent and when the reader disconnects. */
function endlessResponse(upstream: RecordingUpstream) {
  const left = createDeferred()
  const progress = { bytes: 0, left: left.promise }
  upstream.answering = (_arrival, response) => {
    response.writeHead(200, { 'content-type': arrowFileType })
    response.once('close', () => left.resolve(undefined))
    const source = new Readable({
      read() {
        progress.bytes += piece.length
        this.push(piece)
      },
    })
    response.once('close', () => source.destroy())
    source.pipe(response)
  }
  return progress
}

it('passes rows unchanged in both directions', async () => {
  const catalog = await runningBackend()
  const { url, post } = await runningAdapter(catalog.url())
  expect((await post('/v1/table/t/create', streamOf(orders(50_000)))).status).toBe(200)
  const rest = Readable.from([streamOf(orders(3))], { objectMode: false })
  const insert = await request(`${url}/v1/table/t/insert`, { method: 'POST', body: rest })
  expect(await insert.body.json()).toMatchObject({ version: 2, num_inserted_rows: 3 })
  const response = await post('/v1/table/t/query', { k: 60_000, vector: [] })
  expect(tableFromIPC(response.bytes()).numRows).toBe(50_003)
})

it('applies backpressure to a response, and ends it when the client disconnects', async () => {
  const { upstream, url } = await remoteAndAdapter()
  const progress = endlessResponse(upstream)
  const sent = query(url)
  const [response] = await once(sent, 'response')
  response.pause()
  expect(await waitUntilStable(() => progress.bytes, 300)).toBeLessThan(muchBytes)
  response.destroy()
  await progress.left
})

it('cancels a read when the client disconnects before the response', async () => {
  const { upstream, url } = await remoteAndAdapter()
  const left = createDeferred()
  upstream.answering = (_arrival, response) => void response.once('close', () => left.resolve(undefined))
  const sent = query(url)
  sent.on('error', () => undefined)
  await eventually(() => expect(upstream.requests).toHaveLength(1))
  sent.destroy()
  await left.promise
})

it('does not cancel a sent change when the client disconnects', async () => {
  const { upstream, url, get } = await remoteAndAdapter()
  const arrived = createDeferred<ServerResponse>()
  upstream.answering = (_arrival, response) => arrived.resolve(response)
  const sent = httpRequest(`${url}/v1/table/t/drop`, { method: 'POST' })
  sent.on('error', () => undefined)
  sent.end()
  const change = await arrived.promise
  sent.destroy()
  upstream.answering = (_arrival, response) => void response.end('{"tables":[]}')
  // The earlier disconnect has been noticed by the time of these responses.
  for (let round = 0; round < 3; round += 1) expect(await get('/v1/table')).toMatchObject({ status: 200 })
  expect(change.destroyed).toBe(false)
  change.end('{}')
  await once(change, 'close')
  expect(change.writableFinished).toBe(true)
})

it('applies backpressure to an upload', async () => {
  const { upstream, url } = await remoteAndAdapter()
  const arrived = createDeferred<IncomingMessage>()
  upstream.answering = (_arrival, _response, received) => arrived.resolve(received.pause())
  let bytes = 0
  const endless = new Readable({
    read() {
      bytes += piece.length
      this.push(piece)
    },
  })
  const sent = request(`${url}/v1/table/t/insert`, { method: 'POST', body: endless })
  sent.catch(() => undefined)
  expect(await waitUntilStable(() => bytes, 300)).toBeLessThan(muchBytes)
  endless.destroy()
  await expect(sent).rejects.toThrow()
  const received = await arrived.promise
  received.resume()
  await expect(upstream.requests[0]?.body).rejects.toThrow()
})

it('never completes a truncated upload', async () => {
  const { upstream, url } = await remoteAndAdapter()
  for (const headers of [{ 'content-length': '100000' }, { 'transfer-encoding': 'chunked' }]) {
    upstream.requests.length = 0
    upstream.answering = () => {}
    const sent = httpRequest(`${url}/v1/table/t/insert`, { method: 'POST', headers })
    sent.on('error', () => undefined)
    sent.write(Buffer.alloc(1000))
    await eventually(() => expect(upstream.requests).toHaveLength(1))
    sent.destroy()
    await expect(upstream.requests[0]?.body).rejects.toThrow()
  }
})

it('forwards an early response during an upload', async () => {
  const { upstream, url, get } = await remoteAndAdapter()
  for (let round = 0; round < 3; round += 1) {
    upstream.answering = (_arrival, response, received) => {
      received.pause()
      response.writeHead(413, { 'content-type': 'text/plain' }).end('too large')
    }
    const endless = new Readable({ read: () => endless.push(piece) })
    const { statusCode, body } = await request(`${url}/v1/table/t/insert`, { method: 'POST', body: endless })
    expect([statusCode, await body.json()]).toMatchObject([413, { code: 13 }])
    endless.destroy()
    upstream.answering = (_arrival, response) => void response.end('{"tables":[]}')
    expect(await get('/v1/table')).toMatchObject({ status: 200 })
  }
})

it('never completes a truncated response', async () => {
  const { upstream, url } = await remoteAndAdapter()
  upstream.answering = (_arrival, response) => {
    response.writeHead(200, { 'content-type': arrowFileType })
    response.write('ARROW1', () => response.destroy())
  }
  const [response] = await once(query(url), 'response')
  response.resume()
  const [error] = await once(response, 'error')
  expect(error).toMatchObject({ code: 'ECONNRESET' })
})

it('drains active responses when closing', async () => {
  const { upstream, url, close } = await remoteAndAdapter()
  const arrived = createDeferred<() => void>()
  upstream.answering = (_arrival, response) => {
    response.writeHead(200, { 'content-type': arrowFileType }).write('ARROW1')
    arrived.resolve(() => response.end('the rest'))
  }
  const [response] = await once(query(url), 'response')
  const finish = await arrived.promise
  const closed = close()
  finish()
  const chunks: Buffer[] = []
  for await (const chunk of response as AsyncIterable<Buffer>) chunks.push(chunk)
  expect(String(Buffer.concat(chunks))).toBe('ARROW1the rest')
  await closed
})
