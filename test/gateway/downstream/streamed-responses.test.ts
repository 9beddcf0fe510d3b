import { createHash, randomBytes } from 'node:crypto'
import { pipeline } from 'node:stream/promises'
import { Readable } from 'node:stream'
import { expect, it } from 'vitest'
import { withUpstream } from '../support/open-gateway.ts'
import { startGatewayAndUpstream } from '../support/running-gateway.ts'
import { createDeferred, waitUntilStable } from '../support/waiting.ts'

const query = '/v1/table/orders/query'
const mebibyte = 1024 * 1024
const arrow = { 'content-type': 'application/vnd.apache.arrow.file', 'x-lancedb-version': '7' }

const chunk = randomBytes(64 * 1024)
const chunks = 1024

/** 64 MiB; reports the bytes that are read. */
function table(see: (bytes: number) => void): Readable {
  function* whole(): Generator<Buffer> {
    for (let count = 0; count < chunks; count += 1) {
      see(chunk.length)
      yield chunk
    }
  }
  return Readable.from(whole(), { objectMode: false })
}

it('waits for a slow client longer than for a silent upstream, and sends the complete response', async () => {
  const responseBodyTimeoutMs = 1_000
  const { gateway, upstream } = await startGatewayAndUpstream(
    withUpstream(() => ({}), { responseBodyTimeoutMs }),
  )
  let stated = 0
  upstream.handler = (_arrival, response) => {
    response.writeHead(200, arrow)
    return pipeline(
      table((bytes) => (stated += bytes)),
      response,
    )
  }
  const response = await gateway.open('POST', query, { body: {} })
  expect(await waitUntilStable(() => stated, 2 * responseBodyTimeoutMs)).toBeLessThan(32 * mebibyte)
  const received = createHash('sha256')
  for await (const part of response.body) received.update(part as Buffer)
  const expected = createHash('sha256')
  for (let count = 0; count < chunks; count += 1) expected.update(chunk)
  expect(received.digest('hex')).toBe(expected.digest('hex'))
  expect(response).toMatchObject({ statusCode: 200, headers: arrow })
})

it('streams a response as it arrives', async () => {
  const { gateway, upstream } = await startGatewayAndUpstream()
  const finish = createDeferred()
  upstream.handler = async (_arrival, response) => {
    response.writeHead(200, arrow).write('first')
    await finish.promise
    response.end('last')
  }
  const { body } = await gateway.open('POST', query, { body: {} })
  const parts: string[] = []
  for await (const part of body) {
    parts.push(String(part))
    finish.resolve(undefined)
  }
  expect(parts).toEqual(['first', 'last'])
})
