import { createHash, randomFillSync } from 'node:crypto'
import { Readable } from 'node:stream'
import { expect, it } from 'vitest'
import { getHeaderValues } from '../support/recording-upstream.ts'
import { useSharedGateway } from '../support/running-gateway.ts'
import { createDeferred, waitUntilStable } from '../support/waiting.ts'
import { arrowBytes } from '../../support/arrow-upload.ts'

const shared = useSharedGateway()
const insert = '/v1/table/orders/insert'
const mebibyte = 1024 * 1024

/** An Arrow stream of this many bytes that reports read chunks; every chunk is different. */
function upload(bytes: number, see: (chunk: Buffer) => void): Readable {
  function* chunks(): Generator<Buffer> {
    const chunk = arrowBytes(64 * 1024)
    see(chunk)
    yield Buffer.from(chunk)
    for (let taken = chunk.length; taken < bytes; taken += chunk.length) {
      const next = Buffer.from(randomFillSync(chunk, 0, 64))
      see(next)
      yield next
    }
  }
  return Readable.from(chunks(), { objectMode: false, highWaterMark: 64 * 1024 })
}

it.each(['in chunks', 'with a length'])('16 MiB %s reach the upstream byte for byte', async (how) => {
  const { gateway, upstream } = shared
  const sent = createHash('sha256')
  const received = createHash('sha256')
  upstream.handler = (_arrival, response, request) => {
    request.on('data', (chunk: Buffer) => received.update(chunk))
    request.once('end', () => response.end('{}'))
  }
  const length = 16 * mebibyte
  const response = await gateway.post(insert, {
    body: upload(length, (chunk) => sent.update(chunk)),
    headers: how === 'with a length' ? { 'content-length': String(length) } : {},
  })
  expect(response).toMatchObject({ status: 200 })
  expect(received.digest('hex')).toBe(sent.digest('hex'))
  const [arrival = { rawHeaders: [] }] = upstream.requests
  expect([getHeaderValues(arrival, 'content-length'), getHeaderValues(arrival, 'transfer-encoding')]).toEqual(
    how === 'with a length' ? [[String(length)], []] : [[], ['chunked']],
  )
})

it('an upload without a byte is forwarded', async () => {
  const { gateway, upstream } = shared
  expect(await gateway.post(insert, { body: Readable.from([]) })).toMatchObject({ status: 200 })
  expect(String(await upstream.requests[0]?.body)).toBe('')
})

it('an upload waits for a slow upstream', async () => {
  const { gateway, upstream } = shared
  const length = 256 * mebibyte
  let taken = 0
  let received = 0
  const resume = createDeferred<() => void>()
  upstream.handler = (_arrival, response, request) => {
    // Only counted: recorded chunks would stay in memory.
    request.removeAllListeners('data').pause()
    request.on('data', (chunk: Buffer) => (received += chunk.length))
    request.once('end', () => response.end('{}'))
    resume.resolve(() => request.resume())
  }
  const response = gateway.post(insert, { body: upload(length, (chunk) => (taken += chunk.length)) })
  const goOn = await resume.promise
  // The buffers of the kernel hold several megabytes.
  expect(await waitUntilStable(() => taken, 300)).toBeLessThan(64 * mebibyte)
  goOn()
  expect(await response).toMatchObject({ status: 200 })
  expect(received).toBe(length)
})
