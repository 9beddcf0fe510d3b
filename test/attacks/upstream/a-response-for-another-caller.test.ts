import { expect, it } from 'vitest'
import { rawRequest as rawMessage } from '../../gateway/support/raw-request.ts'
import { respondWith } from '../../gateway/support/recording-upstream.ts'
import { attackedGateway } from '../support/attacked-gateway.ts'

// Bytes after a response would become the response to the next request on the same upstream connection. Every such response
// is in http1/client/hostile-responses.test.ts.
const attacked = attackedGateway()
const poison = rawMessage(['HTTP/1.1 200 OK', 'content-length: 10'], '{"evil":1}')

it.each([
  ['a second response', rawMessage(['HTTP/1.1 200 OK', 'content-length: 2'], '{}') + poison],
  [
    'content-length and transfer-encoding',
    rawMessage(['HTTP/1.1 200 OK', 'content-length: 2', 'transfer-encoding: chunked'], `0\r\n\r\n${poison}`),
  ],
])('excess bytes of an upstream that sends %s do not reach other callers', async (_label, bytes) => {
  const { gateway, upstream } = attacked
  for (const operation of ['describe', 'update']) {
    upstream.handler = (_arrival, response) => response.socket?.write(bytes)
    const first = await gateway.post(`/v1/table/orders/${operation}`).catch(() => undefined)
    expect(first?.json ?? {}).not.toHaveProperty('evil')
    upstream.handler = respondWith(200, { mine: true })
    for (let count = 0; count < 3; count += 1) {
      expect(await gateway.post('/v1/table/orders/describe')).toMatchObject({
        status: 200,
        json: { mine: true },
      })
    }
  }
})

it('discards bytes before the response', async () => {
  const { gateway, upstream } = attacked
  upstream.handler = (_arrival, response) => {
    response.writeEarlyHints({ link: '</evil>; rel=preload' })
    response.writeProcessing()
    response.end('{"mine":true}')
  }
  for (const operation of ['describe', 'update']) {
    const response = await gateway.post(`/v1/table/orders/${operation}`)
    expect(String(response.bytes)).toBe('{"mine":true}')
    expect(response.headers).not.toHaveProperty('link')
  }
})
