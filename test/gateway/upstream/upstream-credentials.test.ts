import { expect, it } from 'vitest'
import type { UpstreamSettings } from '../../../src/config/upstream/upstream-settings.ts'
import { expectError } from '../support/expect-error.ts'
import { withUpstream, type GatewaySetup } from '../support/open-gateway.ts'
import { respondWith, getHeaderValues } from '../support/recording-upstream.ts'
import { startGatewayAndUpstream } from '../support/running-gateway.ts'

type Credential = NonNullable<UpstreamSettings['credential']>

function withCredential(credential: Credential): GatewaySetup {
  return withUpstream(() => ({ credential }))
}

it.each(['authorization', 'x-api-key'] as const)(
  'authenticates with %s, and forwards no other credentials',
  async (header) => {
    const { gateway, upstream } = await startGatewayAndUpstream(
      withCredential({ header, value: 'Bearer of-the-gateway' }),
    )
    expect(await gateway.post('/v1/table/orders/describe')).toMatchObject({ status: 200 })
    // The gateway reads listings by itself.
    const listed = await gateway.get('/v1/namespace/$/list')
    for (const arrival of upstream.requests) {
      const sent = [...getHeaderValues(arrival, 'authorization'), ...getHeaderValues(arrival, 'x-api-key')]
      expect(sent).toEqual(['Bearer of-the-gateway'])
      expect(getHeaderValues(arrival, header)).toHaveLength(1)
    }
    const ids = upstream.requests.flatMap((arrival) => getHeaderValues(arrival, 'x-request-id'))
    expect(ids).toEqual([expect.any(String), listed.headers['x-request-id']])
  },
)

const refusal = { error: 'the key has expired\n\tat org.lance.Keys(/srv/x)', code: 16 }

it('forwards a 401 if the caller authenticates to the upstream', async () => {
  const { gateway, upstream } = await startGatewayAndUpstream(withUpstream(() => ({ identity: 'original' })))
  upstream.handler = respondWith(401, refusal)
  for (const [method, target] of [
    ['POST', '/v1/table/t/describe'],
    ['POST', '/v1/table/t/drop'],
    ['GET', '/v1/namespace/$/list'],
  ] as const) {
    const response = await gateway.send(method, target)
    expectError(response, { kind: 'Unauthenticated', says: /^the key has expired$/ })
    expect(response.headers).toHaveProperty('www-authenticate')
  }
})

it.each([
  [401, 'none'],
  [407, 'none'],
  [407, 'original'],
] as const)('a response %i is an error of the gateway if the caller sends %s', async (status, identity) => {
  const { gateway, upstream } = await startGatewayAndUpstream(withUpstream(() => ({ identity })))
  upstream.handler = respondWith(status, refusal, { 'www-authenticate': 'Basic' })
  const response = await gateway.post('/v1/table/t/describe')
  expectError(response, {
    kind: 'ServiceUnavailable',
    status: 502,
    says: /^the upstream rejected the credential of the gateway$/,
  })
  expect(response.headers).not.toHaveProperty('www-authenticate')
})
