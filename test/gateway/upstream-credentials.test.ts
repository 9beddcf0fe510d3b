import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import type { UpstreamSettings } from '../../src/gateway/upstream/upstream-settings.ts'
import { expectError } from './expect-error.ts'
import { withUpstream, type GatewaySetup } from './open-gateway.ts'
import { answers, valuesOf } from './recording-upstream.ts'
import { gatewayAndUpstream } from './running-gateway.ts'

type Credential = NonNullable<UpstreamSettings['credential']>

function withCredential(credential: Credential): GatewaySetup {
  return withUpstream(() => ({ credential }))
}

it.each(['authorization', 'x-api-key'] as const)(
  'the gateway authenticates itself with %s, and passes on nothing else',
  async (header) => {
    const { gateway, upstream } = await gatewayAndUpstream(
      withCredential({ header, value: 'Bearer of-the-gateway' }),
    )
    expect(await gateway.post('/v1/table/orders/describe')).toMatchObject({ status: 200 })
    const [arrival = { rawHeaders: [] }] = upstream.arrivals
    const sent = [...valuesOf(arrival, 'authorization'), ...valuesOf(arrival, 'x-api-key')]
    expect(sent).toEqual(['Bearer of-the-gateway'])
    expect(valuesOf(arrival, header)).toHaveLength(1)
  },
)

it('the credential may stand in a file, as secrets are mounted', async () => {
  const { gateway, upstream } = await gatewayAndUpstream({
    async adjust(settings, folder) {
      const file = join(folder, 'secret')
      await writeFile(file, 'Bearer from-a-file\n')
      return withCredential({ header: 'authorization', file }).adjust?.(settings, folder) ?? settings
    },
  })
  await gateway.post('/v1/table/orders/describe')
  const [arrival = { rawHeaders: [] }] = upstream.arrivals
  expect(valuesOf(arrival, 'authorization')).toEqual(['Bearer from-a-file'])
})

it.each([401, 407])('that the upstream answers %i is no fault of the client', async (status) => {
  const { gateway, upstream } = await gatewayAndUpstream()
  upstream.answering = answers(status, { error: 'who are you?', code: 16 }, { 'www-authenticate': 'Basic' })
  const answer = await gateway.post('/v1/table/orders/describe')
  expectError(answer, {
    kind: 'ServiceUnavailable',
    status: 502,
    says: /catalog .* gateway/,
  })
  expect(answer.headers['www-authenticate']).toBeUndefined()
})
