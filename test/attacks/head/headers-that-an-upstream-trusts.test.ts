import { expect, it } from 'vitest'
import { withUpstream } from '../../gateway/support/open-gateway.ts'
import { getHeaderValues } from '../../gateway/support/recording-upstream.ts'
import { startGatewayAndUpstream } from '../../gateway/support/running-gateway.ts'
import { attackedGateway } from '../support/attacked-gateway.ts'

// Upstreams trust headers that only a proxy should set. A list of forbidden names is never complete, so the allowed ones are
// listed.
const attacked = attackedGateway()

const forwarding =
  'x-forwarded-for x-forwarded-host x-forwarded-port x-forwarded-proto x-forwarded-user x-forwarded-groups ' +
  'x-forwarded-email x-forwarded-access-token x-forwarded-client-cert x-real-ip forwarded via cookie proxy-authorization'
const targets =
  'x-original-url x_original_url x-original-uri x-rewrite-url x-forwarded-uri x-forwarded-prefix x-http-method ' +
  'x-http-method-override x-method-override'
const identity =
  'api-key baggage cf-access-jwt-assertion impersonate-user remote-user x-access-token x-amz-security-token ' +
  'x-auth-request-user x-auth-token x-azure-storage-account-name x-goog-iap-jwt-assertion x-iceberg-access-delegation ' +
  'x-ms-client-principal x-remote-user x-ssl-client-verify x-vend-credentials x-catalog-assertion x-catalog-anything ' +
  'x-unknown-header'

it.each([
  ['forged forwarding headers', forwarding],
  ['headers that override target or method', targets],
  ['identity headers of other proxies', identity],
])('%s do not reach the upstream', async (_attack, list) => {
  const names = list.split(' ')
  const arrival = await attacked.expectForwarded({ lines: names.map((name) => `${name}: DELETE`) })
  expect(names.filter((name) => getHeaderValues(arrival, name).length > 0)).toEqual([])
})

it('headers of the interface reach the upstream', async () => {
  const headers = {
    accept: 'application/json',
    'user-agent': 'LanceDB-Node-Client/0.39.0',
    traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    tracestate: 'a=1',
    'x-catalog-ctx-tenant': 'eu',
    'x-request-timeout-ms': '500',
    'x-lancedb-min-version': '3',
    'x-lancedb-min-read-version': '3',
    'x-lancedb-min-timestamp': '2026-01-01T00:00:00.000000000Z',
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  const arrival = await attacked.expectForwarded({ lines })
  const sent = Object.keys(headers).map((name) => [name, ...getHeaderValues(arrival, name)])
  expect(sent).toEqual(Object.entries(headers))
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
