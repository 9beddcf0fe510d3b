import { expect, it } from 'vitest'
import { getOperation, operationNames } from '../../../src/catalog-api/operations.ts'
import { respondWith, type RequestHandler } from '../support/recording-upstream.ts'
import { createAcceptedQuery, createMinimalRequest } from '../support/minimal-request.ts'
import { startGatewayAndUpstream, useSharedGateway } from '../support/running-gateway.ts'
import { arrowUpload } from '../../support/arrow-upload.ts'

const shared = useSharedGateway()
const cutOff: RequestHandler = (_arrival, response) => response.socket?.destroy()

const changes = operationNames
  .map(getOperation)
  .filter(({ effect, object, body }) => effect !== 'read' && object !== 'none' && body !== 'map')

it.each([
  ['the connection is cut', cutOff],
  ['the upstream is unavailable', respondWith(503, '')],
  ['the upstream fails', respondWith(500, '')],
] as const)(
  'sends a change once, and its client is not led to send it again, if %s',
  async (_what, handler) => {
    const { gateway, upstream } = shared
    for (const { name, body: form } of changes) {
      const { path, members } = createMinimalRequest(name)
      const query = await createAcceptedQuery(name, shared)
      // Creates an idle connection, as in a gateway that has run for a while.
      upstream.handler = respondWith(200, {})
      await gateway.post('/v1/table/orders/describe')
      upstream.requests.length = 0
      upstream.handler = handler
      const body = form === 'arrow' ? arrowUpload : (members ?? {})
      const response = await gateway.post(`${path}?${query}`, { body })
      expect({ name, status: response.status, sent: upstream.requests.length }).toEqual({
        name,
        status: 424,
        sent: 1,
      })
    }
  },
)

it.each([
  ['POST', '/v1/table/orders/describe'],
  ['GET', '/v1/namespace/$/list'],
] as const)('retries a read once if the connection was closed: %s %s', async (method, target) => {
  const { gateway, upstream } = shared
  upstream.handler = cutOff
  expect(await gateway.send(method, target)).toMatchObject({ status: 502 })
  expect(upstream.requests).toHaveLength(2)
})

it.each<[what: string, handler: RequestHandler]>([
  ['streams', (_arrival, response) => response.writeHead(200).write('{', () => response.destroy())],
  ['is an error', (_arrival, response) => response.writeHead(503).write('{', () => response.destroy())],
])('does not retry a read whose response %s when it is truncated', async (_what, handler) => {
  const { gateway, upstream } = shared
  upstream.handler = handler
  await gateway.post('/v1/table/orders/describe').catch(() => undefined)
  expect(upstream.requests).toHaveLength(1)
})

it('a read succeeds if the upstream has closed an idle connection', async () => {
  const { gateway, upstream } = await startGatewayAndUpstream()
  upstream.handler = (_arrival, response, request) => {
    response.end('{}', () => request.socket.destroy())
  }
  for (let count = 0; count < 20; count += 1) {
    expect(await gateway.post('/v1/table/orders/describe')).toMatchObject({ status: 200 })
  }
})

it.each([429, 500, 502, 503, 504])('does not retry a read with the response %i', async (status) => {
  const { gateway, upstream } = shared
  upstream.handler = respondWith(status, '')
  await gateway.post('/v1/table/orders/exists')
  expect(upstream.requests).toHaveLength(1)
})
