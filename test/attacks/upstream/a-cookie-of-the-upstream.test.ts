import { expect, it } from 'vitest'
import { withUpstream } from '../../gateway/support/open-gateway.ts'
import { respondWith } from '../../gateway/support/recording-upstream.ts'
import { startGatewayAndUpstream, useSharedGateway } from '../../gateway/support/running-gateway.ts'

// A cookie would give a session of the gateway to a caller; other headers reveal implementation details of the
// upstream.
const shared = useSharedGateway()
const json = { 'content-type': 'application/json' }

it.each([
  'set-cookie',
  'authorization',
  'strict-transport-security',
  'x-amz-request-id',
  'x-api-key',
  'x-catalog-assertion',
])('%s of the upstream is not forwarded to the caller', async (name) => {
  const { gateway, upstream } = shared
  for (const status of [200, 404]) {
    upstream.handler = respondWith(status, {}, { ...json, [name]: 'public' })
    for (const target of ['/v1/table/t/describe', '/v1/table/t/drop']) {
      const response = await gateway.post(target)
      expect(response.status).toBe(status)
      expect(response.headers).not.toHaveProperty(name)
    }
  }
})

it('forwards headers that clients read', async () => {
  const { gateway, upstream } = shared
  const read = { ...json, 'x-lancedb-version': '7', 'phalanx-version': '0.2.0', 'retry-after': '3' }
  upstream.handler = respondWith(200, {}, read)
  for (const target of ['/v1/table/t/describe', '/v1/table/t/drop']) {
    expect(await gateway.post(target)).toMatchObject({ status: 200, headers: read })
  }
})

it('forwards headers that the settings of an upstream allow', async () => {
  const { gateway, upstream } = await startGatewayAndUpstream(
    withUpstream(() => ({ allowedResponseHeaders: ['x-region'] })),
  )
  upstream.handler = respondWith(200, {}, { ...json, 'x-region': 'west', 'x-zone': 'b' })
  const { headers } = await gateway.post('/v1/table/t/describe')
  expect(headers).toHaveProperty('x-region', 'west')
  expect(headers).not.toHaveProperty('x-zone')
})
