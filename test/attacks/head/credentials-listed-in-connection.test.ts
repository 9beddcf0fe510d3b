import { expect, it } from 'vitest'
import { getHeaderValues } from '../../gateway/support/recording-upstream.ts'
import { attackedGateway } from '../support/attacked-gateway.ts'

// `Connection: x-api-key` makes a proxy drop the header: the request that was checked is not the one that arrives.
const attacked = attackedGateway()

it.each([
  'x-api-key',
  'authorization',
  'host',
  'content-length',
  'transfer-encoding',
  'x-request-id',
  'x-catalog-ctx-a',
])('rejects a connection header that lists %s', async (name) => {
  await attacked.expectInvalid(
    { lines: [`connection: x-other , ${name}`, 'x-catalog-ctx-a: 1'] },
    `the connection header lists "${name.toLowerCase()}"`,
  )
})

it('listing a header that is never forwarded has no effect', async () => {
  const names = ['x-forwarded-user', 'cookie', 'forwarded', 'x-real-ip']
  const lines = names.map((name) => `${name}: admin`)
  const arrival = await attacked.expectForwarded({ lines: [...lines, `connection: ${names.join(', ')}`] })
  for (const name of names) expect(getHeaderValues(arrival, name)).toEqual([])
})
