import { once } from 'node:events'
import { request } from 'node:http'
import { expect, it, onTestFinished } from 'vitest'
import { orders, streamOf } from '../engine/sample-tables.ts'
import { runningBackend } from '../support/running-backend.ts'

const mebibyte = 1024 * 1024

it('uploads that announce all memory and send a byte leave memory to others', async () => {
  const limits = { maxUploadBytes: 4 * mebibyte, maxUploadMemoryBytes: 4 * mebibyte }
  const { post, url } = await runningBackend({ limits })
  await post('/v1/table/t/create', streamOf(orders(3)))
  for (let count = 0; count < 2; count += 1) {
    const headers = { expect: '100-continue', 'content-length': limits.maxUploadBytes }
    const held = request(`${url()}/v1/table/t/insert`, { method: 'POST', headers }).on('error', () => {})
    onTestFinished(() => void held.destroy())
    held.flushHeaders()
    await once(held, 'continue')
    await new Promise((written) => held.write(Buffer.from([255]), written))
  }
  for (let count = 0; count < 10; count += 1)
    expect((await post('/v1/table/t/insert', streamOf(orders(3)))).status).toBe(200)
})
