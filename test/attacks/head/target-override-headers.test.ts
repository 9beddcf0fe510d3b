import { expect, it } from 'vitest'
import { getHeaderValues } from '../../gateway/support/recording-upstream.ts'
import { attackedGateway } from '../support/attacked-gateway.ts'

// Some servers use a target or method from a header instead of the request line.
const attacked = attackedGateway()

it.each([
  ['x-original-url', '/v1/table/production$orders/drop'],
  ['x-original-uri', '/v1/table/production$orders/drop'],
  ['x-rewrite-url', '/v1/table/production$orders/drop'],
  ['x-forwarded-uri', '/v1/table/production$orders/drop'],
  ['x-forwarded-prefix', '/v1/table/production$orders'],
  ['x-http-method', 'DELETE'],
  ['x-http-method-override', 'DELETE'],
  ['x-method-override', 'DELETE'],
])('%s does not reach the upstream', async (name, value) => {
  const arrival = await attacked.expectForwarded({ lines: [`${name}: ${value}`] })
  expect(getHeaderValues(arrival, name)).toEqual([])
})

it('does not forward its spelling with underscores', async () => {
  const arrival = await attacked.expectForwarded({
    lines: ['x_original_url: /v1/table/production$orders/drop'],
  })
  expect(getHeaderValues(arrival, 'x_original_url')).toEqual([])
})
