import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, it } from 'vitest'
import { limitsSchema } from '../../../src/config/listen-settings.ts'
import { countRefusals } from '../../gateway/support/count-refusals.ts'
import { expectError } from '../../gateway/support/expect-error.ts'
import type { GatewaySetup } from '../../gateway/support/open-gateway.ts'
import { rawRequest } from '../../gateway/support/raw-request.ts'
import { startGatewayAndUpstream } from '../../gateway/support/running-gateway.ts'

// Guessing keys must not make the gateway verify each of them. For how long an address is blocked:
// limits/failed-authentications.test.ts.
const limits = limitsSchema.parse({ failedAuthentications: { perSecond: 0.001 } })
const setup: GatewaySetup = { settings: { limits } }

const target = '/v1/table/orders/describe'
const wrong = { as: 'cgw_wrong' }

it('rejects all requests of an address after too many bad credentials, and of no other address', async () => {
  const { gateway, upstream } = await startGatewayAndUpstream(setup)
  expect(await gateway.post(target)).toMatchObject({ status: 200 })
  const token = { as: null, headers: { authorization: 'Bearer a.b.c' } }
  for (let count = 0; count < 5; count += 1)
    for (const parts of [wrong, token, { as: null }, token])
      expect(await gateway.post(target, parts)).toMatchObject({ status: 401 })
  for (const parts of [wrong, { as: null }, {}]) {
    const refused = await gateway.post(target, parts)
    expectError(refused, {
      kind: 'Throttling',
      says: /^too many failed authentications from this address .*; retry in \d+ s$/,
    })
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(900)
  }
  expect(await countRefusals(gateway, 'too_many_failed_authentications')).toBe(3)
  expect(upstream.requests).toHaveLength(1)
  const other = connect({
    port: Number(new URL(gateway.url).port),
    host: '127.0.0.1',
    localAddress: '127.0.0.2',
  })
  const lines = [`POST ${target} HTTP/1.1`, 'host: g', `x-api-key: ${gateway.key('dev')}`]
  other.write(rawRequest([...lines, 'content-length: 0']))
  const [first] = (await once(other, 'data')) as [Buffer]
  expect(String(first)).toMatch(/^HTTP\/1\.1 200 /)
  other.destroy()
})
