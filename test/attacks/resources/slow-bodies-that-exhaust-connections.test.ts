import { setMaxListeners } from 'node:events'
import { expect, it, onTestFinished } from 'vitest'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { allowEverythingForTwo } from '../../gateway/support/open-gateway.ts'
import { openRawConnection } from '../../gateway/support/raw-connection.ts'
import { keyedRequest } from '../../gateway/support/raw-request.ts'
import type { ReceivedRequest } from '../../gateway/support/recording-upstream.ts'
import { startGatewayAndUpstream } from '../../gateway/support/running-gateway.ts'
import { arrowBytes, arrowUpload } from '../../support/arrow-upload.ts'
import { eventually } from '../../support/eventually.ts'

// A slow upload or download holds an upstream connection for as long as the client likes. With the default settings,
// that takes no connection from small requests, and only a share from bodies of others.
const bodies = 100
const insert = '/v1/table/orders/insert'
const query = '/v1/table/orders/query'
const describe = '/v1/table/orders/describe'
const large = Buffer.alloc(4 * 1024 * 1024)

function respondToLargeQueries(
  { target }: ReceivedRequest,
  response: ServerResponse,
  request: IncomingMessage,
): void {
  request.resume()
  if (target === query) response.end(large)
  else request.once('end', () => response.end('{}'))
}

it('slow uploads and downloads leave connections to small requests and to bodies of others', async () => {
  const { gateway, upstream } = await startGatewayAndUpstream(allowEverythingForTwo)
  upstream.handler = respondToLargeQueries
  for (let count = 0; count < bodies; count += 1) {
    const upload = openRawConnection(gateway.url)
    upload.write(keyedRequest(gateway, 'mallory', `POST ${insert}`, ['content-length: 1000000']))
    upload.write(arrowBytes(20_000))
    const download = openRawConnection(gateway.url)
    download.socket.pause()
    download.write(keyedRequest(gateway, 'mallory', `POST ${query}`, ['content-length: 0']))
  }
  await eventually(() => expect(upstream.requests).toHaveLength(2 * bodies))
  for (const as of ['dev', 'mallory'])
    for (let count = 0; count < 50; count += 1)
      expect(await gateway.post(describe, { as })).toMatchObject({ status: 200 })
  expect(await gateway.post(insert, { body: arrowUpload })).toMatchObject({ status: 200 })
  expect(await gateway.post(query, { body: {} })).toMatchObject({ status: 200 })
})

it('one principal cannot fill the bulk pool or its queue', async () => {
  const { gateway, upstream } = await startGatewayAndUpstream({
    ...allowEverythingForTwo,
    tuning: { upstream: { maxPendingRequests: 8, maxBulkConnections: 8 } },
  })
  const requestCount = 20
  const leave = new AbortController()
  // Each request listens to the signal.
  setMaxListeners(requestCount, leave.signal)
  onTestFinished(() => leave.abort())
  upstream.handler = () => undefined
  const refused: unknown[] = []
  for (let count = 0; count < requestCount; count += 1) {
    const sent = gateway.post(query, { as: 'mallory', body: {}, signal: leave.signal })
    sent.then(({ status }) => refused.push(status)).catch(() => undefined)
  }
  // Four are sent, four are pending, and the rest is refused.
  await eventually(() => expect(refused).toEqual(Array.from({ length: 12 }, () => 503)))
  await eventually(() => expect(upstream.requests).toHaveLength(4))
  upstream.handler = respondToLargeQueries
  expect(await gateway.post(insert, { body: arrowUpload })).toMatchObject({ status: 200 })
  expect(await gateway.post(query, { body: {} })).toMatchObject({ status: 200 })
})
