import { expect, it } from 'vitest'
import { expectError } from '../support/expect-error.ts'
import { getHeaderValues } from '../support/recording-upstream.ts'
import type { GatewaySetup } from '../support/open-gateway.ts'
import { startGatewayAndUpstream } from '../support/running-gateway.ts'

const withLance: GatewaySetup = { adjust: (settings) => ({ ...settings, dialects: ['lance'] }) }
const create = { body: 'ARROW' }

it('forwards context, location and properties in the dialect of the interface', async () => {
  const { gateway, upstream } = await startGatewayAndUpstream()
  const headers = {
    'X-Catalog-Ctx-Trace_Id': '7',
    'x-catalog-table-location': 's3://bucket/orders',
    'x-catalog-table-properties': '{"owner":"sales"}',
  }
  expect(await gateway.post('/v1/table/orders/create', { ...create, headers })).toMatchObject({ status: 200 })
  const [arrival = { rawHeaders: [] }] = upstream.requests
  for (const [name, value] of Object.entries(headers)) {
    expect(getHeaderValues(arrival, name.toLowerCase())).toEqual([value])
  }
})

it.each([
  ['x-lance-ctx-trace', 'x-catalog-ctx-trace'],
  ['x-lance-table-location', 'x-catalog-table-location'],
  ['x-lance-table-properties', 'x-catalog-table-properties'],
])('if enabled, %s is the alias of %s', async (alias, name) => {
  const { gateway, upstream } = await startGatewayAndUpstream(withLance)
  const headers = { [alias]: '{"a":"b"}' }
  expect(await gateway.post('/v1/table/orders/create', { ...create, headers })).toMatchObject({ status: 200 })
  const [arrival = { rawHeaders: [] }] = upstream.requests
  expect([getHeaderValues(arrival, alias), getHeaderValues(arrival, name)]).toEqual([[], ['{"a":"b"}']])
})

it('rejects the other dialect unless it is enabled', async () => {
  const { gateway, upstream } = await startGatewayAndUpstream()
  const headers = { 'x-lance-ctx-trace': '7' }
  expectError(await gateway.post('/v1/table/orders/describe', { headers }), {
    kind: 'InvalidInput',
    says: 'the dialect "lance", which is not enabled; use "x-catalog-ctx-trace"',
  })
  expect(upstream.bytesReceived()).toBe(0)
})

it('rejects both dialects in one request, because they could differ', async () => {
  const { gateway, upstream } = await startGatewayAndUpstream(withLance)
  const headers = { 'x-lance-ctx-trace': '7', 'x-catalog-ctx-trace': '8' }
  expectError(await gateway.post('/v1/table/orders/describe', { headers }), {
    kind: 'InvalidInput',
    says: '"x-catalog-ctx-trace" is repeated',
  })
  expect(upstream.bytesReceived()).toBe(0)
})
