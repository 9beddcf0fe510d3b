import { expect, it } from 'vitest'
import { getHeaderValues } from '../support/recording-upstream.ts'
import { sendRaw, rawRequest } from '../support/raw-request.ts'
import { startGatewayAndUpstream } from '../support/running-gateway.ts'

it('does not forward hop-by-hop headers of the client, including those listed in connection', async () => {
  const { gateway, upstream } = await startGatewayAndUpstream()
  const [response] = await sendRaw(
    gateway.url,
    rawRequest([
      'POST /v1/table/orders/describe HTTP/1.1',
      'Host: gateway.example',
      `X-Api-Key: ${gateway.key('dev')}`,
      'Connection: close, Accept , upgrade',
      'Connection: traceparent',
      'Accept: a/b',
      'Traceparent: 2',
      'User-Agent: 3',
      'Keep-Alive: timeout=5',
      'Proxy-Connection: keep-alive',
      'Proxy-Authorization: Basic Zm9vOmJhcg==',
      'TE: trailers',
      'Upgrade: websocket',
      'Accept-Encoding: gzip',
      'Content-Length: 0',
    ]),
  )
  expect(response).toMatchObject({ status: 200, headers: { connection: 'close' } })
  const [arrival] = upstream.requests
  const names = arrival?.rawHeaders.filter((_, index) => index % 2 === 0).toSorted()
  expect(names).toEqual([
    'accept-encoding',
    'connection',
    'content-length',
    'content-type',
    'host',
    'user-agent',
    'x-request-id',
  ])
  expect(getHeaderValues(arrival ?? { rawHeaders: [] }, 'accept-encoding')).toEqual(['identity'])
  expect(getHeaderValues(arrival ?? { rawHeaders: [] }, 'connection')).toEqual(['keep-alive'])
})

it('does not forward hop-by-hop headers of the upstream, including those listed in connection', async () => {
  const { gateway, upstream } = await startGatewayAndUpstream()
  upstream.handler = (_arrival, response) => {
    response.socket?.end(
      rawRequest(
        [
          'HTTP/1.1 200 OK',
          'Content-Type: application/json',
          'Connection: Retry-After',
          'Connection: phalanx-version, close',
          'Keep-Alive: timeout=1',
          'Proxy-Authenticate: Basic',
          'Retry-After: 1',
          'Phalanx-Version: 2',
          'X-LanceDB-Version: 3',
          'Trailer: x-sum',
          'Transfer-Encoding: chunked',
        ],
        '2\r\n{}\r\n0\r\nx-sum: 1\r\n\r\n',
      ),
    )
  }
  const response = await gateway.post('/v1/table/orders/describe')
  expect(response).toMatchObject({ status: 200, json: {}, headers: { 'x-lancedb-version': '3' } })
  const names = Object.keys(response.headers).filter((name) => name !== 'date')
  expect(names.toSorted()).toEqual([
    'connection',
    'content-type',
    'keep-alive',
    'transfer-encoding',
    'x-catalog-policy-revision',
    'x-lancedb-version',
    'x-request-id',
  ])
  expect(response.headers).toMatchObject({ connection: 'keep-alive', 'keep-alive': 'timeout=75' })
})
