import { expect, it } from 'vitest'
import { expectError } from '../../gateway/support/expect-error.ts'
import { extraOperations } from '../../gateway/support/extra-operations.ts'
import { startGatewayAndUpstream, startUpstream } from '../../gateway/support/running-gateway.ts'

// An upstream could take the path of another one's operation for something else.
it('is an unknown route there, and callers without permission do not learn which upstream has it', async () => {
  const lake = await startUpstream()
  const { gateway, upstream } = await startGatewayAndUpstream({
    users: ['mallory'],
    adjust: (settings) => ({
      ...settings,
      upstreams: settings.upstreams.flatMap((usual) => [
        usual,
        { ...usual, name: 'lake', url: lake.url, namespaces: [['lake']], extraOperations },
      ]),
    }),
  })
  expect(await gateway.post('/v1/table/lake$orders/mirror')).toMatchObject({ status: 200 })
  expect(lake.requests.map(({ target }) => target)).toEqual(['/v1/table/lake%24orders/mirror'])
  const unknown = {
    kind: 'Unsupported',
    status: 406,
    says: 'unknown route "/v1/table/orders/mirror"',
  } as const
  expectError(await gateway.post('/v1/table/orders/mirror/?delimiter=.'), unknown)
  const denied = await Promise.all(
    ['orders', 'lake$orders'].map((id) => gateway.post(`/v1/table/${id}/mirror`, { as: 'mallory' })),
  )
  expect(denied.map(({ status }) => status)).toEqual([403, 403])
  const anonymous = await Promise.all(
    ['orders', 'lake$orders'].map((id) => gateway.post(`/v1/table/${id}/mirror`, { as: null })),
  )
  expect(anonymous.map(({ status }) => status)).toEqual([401, 401])
  expect(upstream.requests).toEqual([])
})
