import { expect, it } from 'vitest'
import { withUpstream } from '../../gateway/support/open-gateway.ts'
import { getHeaderValues } from '../../gateway/support/recording-upstream.ts'
import { startGatewayAndUpstream } from '../../gateway/support/running-gateway.ts'
import { attackedGateway } from '../support/attacked-gateway.ts'

// Upstreams trust headers that only a proxy should set. A list of forbidden names is never complete.
const attacked = attackedGateway()

it.each([
  'api-key',
  'baggage',
  'cf-access-jwt-assertion',
  'impersonate-user',
  'remote-user',
  'x-access-token',
  'x-amz-security-token',
  'x-auth-request-user',
  'x-auth-token',
  'x-azure-storage-account-name',
  'x-goog-iap-jwt-assertion',
  'x-iceberg-access-delegation',
  'x-ms-client-principal',
  'x-remote-user',
  'x-ssl-client-verify',
  'x-vend-credentials',
  'x-catalog-assertion',
  'x-catalog-anything',
  'x-unknown-header',
])('%s of a caller does not reach the upstream', async (name) => {
  const arrival = await attacked.expectForwarded({ lines: [`${name}: admin`] })
  expect(getHeaderValues(arrival, name)).toEqual([])
})

it.each([
  ['accept', 'application/json'],
  ['user-agent', 'LanceDB-Node-Client/0.39.0'],
  ['traceparent', '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'],
  ['tracestate', 'a=1'],
  ['x-catalog-ctx-tenant', 'eu'],
  ['x-request-timeout-ms', '500'],
  ['x-lancedb-min-version', '3'],
  ['x-lancedb-min-read-version', '3'],
  ['x-lancedb-min-timestamp', '2026-01-01T00:00:00.000000000Z'],
])('%s of a caller, a header of the interface, reaches the upstream', async (name, value) => {
  const arrival = await attacked.expectForwarded({ lines: [`${name}: ${value}`] })
  expect(getHeaderValues(arrival, name)).toEqual([value])
})

it('forwards only the additional headers that the settings of an upstream allow', async () => {
  const { gateway, upstream } = await startGatewayAndUpstream(
    withUpstream(() => ({ allowedRequestHeaders: ['x-tenant', 'baggage'] })),
  )
  const headers = { 'X-Tenant': 'eu', baggage: 'a=1', 'x-region': 'west' }
  expect(await gateway.post('/v1/table/t/describe', { headers })).toMatchObject({ status: 200 })
  const arrival = upstream.requests.pop() ?? { rawHeaders: [] }
  expect(getHeaderValues(arrival, 'x-tenant')).toEqual(['eu'])
  expect(getHeaderValues(arrival, 'baggage')).toEqual(['a=1'])
  expect(getHeaderValues(arrival, 'x-region')).toEqual([])
})
