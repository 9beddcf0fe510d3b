import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
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
    const [arrival = { rawHeaders: [] }] = upstream.requests
    const sent = [...getHeaderValues(arrival, 'authorization'), ...getHeaderValues(arrival, 'x-api-key')]
    expect(sent).toEqual(['Bearer of-the-gateway'])
    expect(getHeaderValues(arrival, header)).toHaveLength(1)
  },
)

it('reads the credential from a file', async () => {
  const { gateway, upstream } = await startGatewayAndUpstream({
    async adjust(settings, folder) {
      const file = join(folder, 'secret')
      await writeFile(file, 'Bearer from-a-file\n')
      return withCredential({ header: 'authorization', file }).adjust?.(settings, folder) ?? settings
    },
  })
  await gateway.post('/v1/table/orders/describe')
  const [arrival = { rawHeaders: [] }] = upstream.requests
  expect(getHeaderValues(arrival, 'authorization')).toEqual(['Bearer from-a-file'])
})

it.each([401, 407])('a response %i of the upstream is not an error of the client', async (status) => {
  const { gateway, upstream } = await startGatewayAndUpstream()
  upstream.answering = respondWith(
    status,
    { error: 'who are you?', code: 16 },
    { 'www-authenticate': 'Basic' },
  )
  const response = await gateway.post('/v1/table/orders/describe')
  expectError(response, {
    kind: 'ServiceUnavailable',
    status: 502,
    says: /the upstream rejected the credential of the gateway/,
  })
  expect(response.headers['www-authenticate']).toBeUndefined()
})
