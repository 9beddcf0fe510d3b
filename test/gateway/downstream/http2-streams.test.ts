import { expect, it } from 'vitest'
import { countRefusals } from '../support/count-refusals.ts'
import { withHttp2, type GatewaySetup } from '../support/open-gateway.ts'
import { openRawHttp2, type RawHttp2 } from '../support/raw-http2.ts'
import { respondWith } from '../support/recording-upstream.ts'
import { startGatewayAndUpstream } from '../support/running-gateway.ts'
import { createDeferred } from '../support/waiting.ts'
import { arrowBytes, arrowUpload } from '../../support/arrow-upload.ts'
import type { Field } from '../../support/hpack.ts'
import { errorCodes } from '../../support/http2-frames.ts'
import { eventually } from '../../support/eventually.ts'

const mebibyte = 1024 * 1024
const query = '/v1/table/orders/query'
const insert = '/v1/table/orders/insert'

function fieldsOf(path: string, key: string, ...more: Field[]): Field[] {
  return [[':method', 'POST'], [':path', path], ['x-api-key', key], ...more]
}

function withSendTimeout(sendTimeoutMs: number): GatewaySetup {
  return { ...withHttp2, tuning: { clients: { sendTimeoutMs } } }
}

async function expectServed(connection: RawHttp2, streamId: number, key: string): Promise<void> {
  await connection.request(streamId, fieldsOf('/v1/table/well/exists', key))
  expect(await connection.waitForStatus(streamId)).toBe(200)
  expect(await connection.waitForEnd(streamId)).toBe('complete')
}

it('a client that does not read a response gets its others, and the stream is reset, even if its upstream was slow before', async () => {
  const sendTimeoutMs = 500
  const { gateway, upstream } = await startGatewayAndUpstream(withSendTimeout(sendTimeoutMs))
  const key = gateway.key('dev')
  const connection = await openRawHttp2(gateway.url, [1])
  const aborted = createDeferred()
  upstream.answering = (_arrival, response) => {
    response.on('close', () => aborted.resolve(undefined))
    setTimeout(() => response.writeHead(200).end(Buffer.alloc(32 * mebibyte)), 3 * sendTimeoutMs)
  }
  await connection.request(1, fieldsOf(query, key))
  expect(await connection.waitForStatus(1)).toBe(200)
  upstream.answering = respondWith(200, {})
  await expectServed(connection, 3, key)
  expect(await connection.waitForEnd(1)).toBeGreaterThan(errorCodes.noError)
  await aborted.promise
  expect(await countRefusals(gateway, 'send_timeout')).toBe(1)
  await expectServed(connection, 5, key)
})

it('an upload that the upstream does not read leaves room to other streams', async () => {
  const { gateway, upstream } = await startGatewayAndUpstream(withHttp2)
  const key = gateway.key('dev')
  const connection = await openRawHttp2(gateway.url)
  upstream.answering = (_arrival, _response, request) => void request.pause()
  await connection.request(1, fieldsOf(insert, key), false)
  for (let count = 0; count < 16; count += 1)
    await connection.data(1, count === 0 ? arrowBytes(16_000) : Buffer.alloc(16_000))
  await eventually(() => expect(upstream.requests).toHaveLength(1))
  upstream.answering = respondWith(200, {})
  await connection.request(3, fieldsOf(insert, key), false)
  await connection.data(3, arrowBytes(16_000))
  for (let count = 0; count < 2; count += 1) await connection.data(3, Buffer.alloc(16_000), count === 1)
  expect(await connection.waitForStatus(3)).toBe(200)
})

it('serves one hundred streams of a connection at a time, and closes it if the client opens more', async () => {
  const { gateway, upstream } = await startGatewayAndUpstream(withHttp2)
  const finish = createDeferred()
  upstream.answering = (...parts) => finish.promise.then(() => respondWith(200, {})(...parts))
  const [connection, other] = [await openRawHttp2(gateway.url), await openRawHttp2(gateway.url)]
  const key = gateway.key('dev')
  for (let index = 0; index < 100; index += 1) {
    await connection.request(1 + 2 * index, fieldsOf(query, key))
    await other.request(1 + 2 * index, fieldsOf(query, key))
  }
  await other.request(201, fieldsOf(query, key))
  await eventually(() => expect(other.isClosed()).toBe(true))
  expect(other.goaways()).not.toContain(errorCodes.noError)
  expect(await countRefusals(gateway, 'http2_error')).toBe(1)
  finish.resolve(undefined)
  for (const streamId of [1, 99, 199]) expect(await connection.waitForEnd(streamId)).toBe('complete')
  upstream.answering = respondWith(200, {})
  await expectServed(connection, 201, key)
})

it('sends the refusal of an upload, and resets the stream without an error', async () => {
  const { gateway, upstream } = await startGatewayAndUpstream({ ...withHttp2, users: ['reader'] })
  const connection = await openRawHttp2(gateway.url)
  await connection.request(1, fieldsOf(insert, gateway.key('reader')), false)
  expect(await connection.waitForStatus(1)).toBe(403)
  expect(await connection.waitForEnd(1)).toBe('complete')
  await eventually(() => expect(connection.resets(1)).toEqual([errorCodes.noError]))
  await connection.data(1, Buffer.alloc(16_000))
  await expectServed(connection, 3, gateway.key('dev'))
  expect(upstream.requests).toMatchObject([{ target: '/v1/table/well/exists' }])
})

it.each(['with', 'without'])(
  'resets the stream of a response %s a length that the upstream cuts',
  async (kind) => {
    const { gateway, upstream } = await startGatewayAndUpstream(withHttp2)
    upstream.answering = (_arrival, response) => {
      response.writeHead(200, kind === 'with' ? { 'content-length': 1_000 } : {})
      response.write('half', () => setTimeout(() => response.destroy(), 50))
    }
    const connection = await openRawHttp2(gateway.url)
    await connection.request(1, fieldsOf(query, gateway.key('dev')))
    const end = await connection.waitForEnd(1)
    if (end === 'complete') expect(connection.status(1)).toBe(502)
    else expect(end).toBeGreaterThan(errorCodes.noError)
  },
)

it('sends 100 (Continue) to a request that is forwarded, and not to one that is refused', async () => {
  const { gateway, upstream } = await startGatewayAndUpstream({ ...withHttp2, users: ['reader'] })
  const connection = await openRawHttp2(gateway.url)
  const expectation: Field = ['expect', '100-continue']
  await connection.request(1, fieldsOf(insert, gateway.key('reader'), expectation), false)
  await connection.waitForEnd(1)
  expect(connection.heads(1)).toEqual([403])
  await connection.request(3, fieldsOf(insert, gateway.key('dev'), expectation), false)
  await eventually(() => expect(connection.heads(3)).toEqual([100]))
  await connection.data(3, arrowUpload, true)
  expect(await connection.waitForEnd(3)).toBe('complete')
  expect(connection.heads(3)).toEqual([100, 200])
  expect(await upstream.requests[0]?.body).toEqual(arrowUpload)
})
