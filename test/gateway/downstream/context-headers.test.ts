import { expect, it } from 'vitest'
import { expectError } from '../support/expect-error.ts'
import { getHeaderValues, respondWith, type RecordingUpstream } from '../support/recording-upstream.ts'
import { useSharedGateway } from '../support/running-gateway.ts'
import { arrowUpload } from '../../support/arrow-upload.ts'

const plain = useSharedGateway()
const withLance = useSharedGateway({ settings: { dialects: ['lance'] } })
const beforeLance = useSharedGateway({
  adjust: (settings) => ({
    ...settings,
    dialects: ['lance'],
    upstreams: settings.upstreams.map((usual) => ({ ...usual, headerDialect: 'lance' })),
  }),
})
const create = { body: arrowUpload }

/** The headers for context, location and properties of the last request, in any dialect. */
function catalogHeadersOf({ requests }: RecordingUpstream): Record<string, string> {
  const { rawHeaders = [] } = requests.at(-1) ?? {}
  const pairs = rawHeaders.flatMap((name, index) =>
    index % 2 === 0 ? [[name.toLowerCase(), rawHeaders[index + 1] ?? ''] as const] : [],
  )
  return Object.fromEntries(pairs.filter(([name]) => /^x-(catalog|lance)-(ctx|table)-/.test(name)))
}

it('forwards context, location and properties in the dialect of the interface', async () => {
  const { gateway, upstream } = plain
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
  const { gateway, upstream } = withLance
  const headers = { [alias]: '{"a":"b"}' }
  expect(await gateway.post('/v1/table/orders/create', { ...create, headers })).toMatchObject({ status: 200 })
  const [arrival = { rawHeaders: [] }] = upstream.requests
  expect([getHeaderValues(arrival, alias), getHeaderValues(arrival, name)]).toEqual([[], ['{"a":"b"}']])
})

it('sends context, location and properties under the names that a server of Lance reads, if it is one', async () => {
  const { gateway, upstream } = beforeLance
  const headers = {
    'x-catalog-ctx-trace': '7',
    'x-lance-ctx-span': '8',
    'x-lance-table-location': 's3://bucket/orders',
    'x-catalog-table-properties': '{"owner":"sales"}',
  }
  expect(await gateway.post('/v1/table/orders/create', { ...create, headers })).toMatchObject({ status: 200 })
  expect(catalogHeadersOf(upstream)).toEqual({
    'x-lance-ctx-trace': '7',
    'x-lance-ctx-span': '8',
    'x-lance-table-location': 's3://bucket/orders',
    'x-lance-table-properties': '{"owner":"sales"}',
  })
})

it('repeats properties of the query in the header that a server of Lance reads', async () => {
  const { gateway, upstream } = beforeLance
  const properties = '{"owner":"sales"}'
  const target = `/v1/table/orders/create?properties=${encodeURIComponent(properties)}`
  expect(await gateway.post(target, create)).toMatchObject({ status: 200 })
  expect(catalogHeadersOf(upstream)).toEqual({ 'x-lance-table-properties': properties })
})

it('sends the context of a listing under the names that a server of Lance reads', async () => {
  const { gateway, upstream } = beforeLance
  upstream.handler = respondWith(200, { tables: [] })
  const headers = { 'x-catalog-ctx-trace': '7' }
  expect(await gateway.get('/v1/namespace/$/table/list', { headers })).toMatchObject({ status: 200 })
  expect(catalogHeadersOf(upstream)).toEqual({ 'x-lance-ctx-trace': '7' })
})

it('rejects the other dialect unless it is enabled', async () => {
  const { gateway, upstream } = plain
  const headers = { 'x-lance-ctx-trace': '7' }
  expectError(await gateway.post('/v1/table/orders/describe', { headers }), {
    kind: 'InvalidInput',
    says: 'the dialect "lance", which is not enabled; use "x-catalog-ctx-trace"',
  })
  expect(upstream.requests).toEqual([])
})

it('rejects both dialects in one request, because they could differ', async () => {
  const { gateway, upstream } = withLance
  const headers = { 'x-lance-ctx-trace': '7', 'x-catalog-ctx-trace': '8' }
  expectError(await gateway.post('/v1/table/orders/describe', { headers }), {
    kind: 'InvalidInput',
    says: '"x-catalog-ctx-trace" is repeated',
  })
  expect(upstream.requests).toEqual([])
})
