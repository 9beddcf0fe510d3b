import { RecordBatchStreamWriter, Table, makeVector, tableFromIPC } from 'apache-arrow'
import { randomFillSync } from 'node:crypto'
import { Readable } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import { Pool, type Dispatcher } from 'undici'
import { expect, inject, it, onTestFinished } from 'vitest'
import { startGatewayProgram, type GatewayProgram } from '../../e2e/gateway-program.ts'
import { arrowStart } from '../../support/arrow-upload.ts'
import { adapterEnvironment, startRestAdapter } from './rest-adapter.ts'

const mebibyte = 1024 * 1024
/** Less than a body. */
const allowedGrowth = 48 * mebibyte
const numbersPerUpload = 230_000
/** The adapter takes no more than 2 MB in one request. */
const upload = Buffer.from(
  RecordBatchStreamWriter.writeAll(
    new Table({ number: makeVector(randomFillSync(new Float64Array(numbersPerUpload))) }),
  ).toUint8Array(true),
)
const uploads = Math.ceil((64 * mebibyte) / upload.length)

type Post = (path: string, body: Buffer | Readable | string) => Promise<Dispatcher.ResponseData>

async function startBefore(url: string): Promise<{ gateway: GatewayProgram; post: Post }> {
  const gateway = await startGatewayProgram(url)
  const pool = new Pool(gateway.url)
  onTestFinished(async () => {
    await pool.destroy()
    await gateway.remove()
  })
  const post: Post = (path, body) =>
    pool.request({ method: 'POST', path, headers: { 'x-api-key': gateway.key }, body })
  return { gateway, post }
}

it('64 MB go to the REST adapter and come back, and the gateway holds little of them', async ({ skip }) => {
  skip(!inject('installedClients').includes(adapterEnvironment), `${adapterEnvironment} is not installed`)
  const adapter = await startRestAdapter()
  const { gateway, post } = await startBefore(adapter.url)
  const query = JSON.stringify({ k: uploads * numbersPerUpload, vector: { single_vector: [] } })
  const send = async (path: string, body: Buffer | string): Promise<Buffer> => {
    const response = await post(`/v1/table/numbers/${path}`, body)
    expect(response.statusCode).toBe(200)
    return Buffer.from(await response.body.arrayBuffer())
  }
  await send('create', upload)
  await send('query', query)
  const idle = await gateway.residentBytes()

  const uploading = async (): Promise<void> => {
    for (let count = 1; count < uploads; count += 1) await send('insert', upload)
  }
  const peakOfUploads = await gateway.peakDuring(uploading())
  const { statusCode, body } = await post('/v1/table/numbers/query', query)
  expect(statusCode).toBe(200)
  const chunks: Buffer[] = []
  let peakOfDownload = 0
  for await (const chunk of body as AsyncIterable<Buffer>) {
    // The rest does not fit into the buffers of sockets, so the gateway has sent the first chunk before the last came.
    if (chunks.length === 0) await pause(500)
    if (chunks.length % 100 === 0) peakOfDownload = Math.max(peakOfDownload, await gateway.residentBytes())
    chunks.push(chunk)
  }
  const file = Buffer.concat(chunks)
  expect(file.length).toBeGreaterThan(64 * mebibyte)
  expect(tableFromIPC(file).numRows).toBe(uploads * numbersPerUpload)
  expect(peakOfUploads - idle).toBeLessThan(allowedGrowth)
  expect(peakOfDownload - idle).toBeLessThan(allowedGrowth)
})

it('an upload that is too large for the REST adapter is refused while it is sent', async ({ skip }) => {
  skip(!inject('installedClients').includes(adapterEnvironment), `${adapterEnvironment} is not installed`)
  const adapter = await startRestAdapter()
  const { gateway, post } = await startBefore(adapter.url)
  let sent = 0
  function* chunks(): Generator<Buffer> {
    yield arrowStart
    for (; sent < 1024 * mebibyte; sent += upload.length) yield upload
  }
  const idle = await gateway.residentBytes()
  const refused = post('/v1/table/numbers/create', Readable.from(chunks(), { objectMode: false }))
  expect((await gateway.peakDuring(refused)) - idle).toBeLessThan(allowedGrowth)
  const { statusCode, body } = await refused
  expect([statusCode, await body.json()]).toEqual([413, expect.objectContaining({ code: 13 })])
  expect(sent).toBeLessThan(256 * mebibyte)
})
