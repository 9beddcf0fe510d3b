import { Readable } from 'node:stream'
import { expect, it } from 'vitest'
import { getHeaderValues } from '../support/recording-upstream.ts'
import { useSharedGateway } from '../support/running-gateway.ts'
import { arrowUpload } from '../../support/arrow-upload.ts'

const shared = useSharedGateway()
const target = '/v1/table/sales$orders/query'

it.each([
  'null',
  ' null\n',
  '{}',
  '{ "id" : ["sales","orders"],\t"k":9223372036854775807 , "filter": "a = \\"\\u00e9\\"" }\r\n',
  '{"vector":[1e400,-0.0,1.50],"context":{"a":"b"},"version":null,"id":null,"columns":{"__proto__":"x"}}',
  '{"id":["sales","orders"],"branch":"feature/one","columns":{"constructor":"1"}}',
])('the body %j reaches the upstream byte for byte', async (body) => {
  const { gateway, upstream } = shared
  const json = { 'content-type': 'application/json' }
  expect(await gateway.post(target, { body, headers: json })).toMatchObject({ status: 200 })
  expect(String(await upstream.requests[0]?.body)).toBe(body)
})

it.each(['count_rows', 'stats', 'index/list', 'index/by_day/stats'])(
  'forwards GET of %s as a POST with an empty JSON object, which catalogs of others require',
  async (action) => {
    const { gateway, upstream } = shared
    expect(await gateway.get(`/v1/table/orders/${action}`)).toMatchObject({ status: 200 })
    const [arrival = { rawHeaders: [], method: '', body: undefined }] = upstream.requests
    expect([arrival.method, String(await arrival.body)]).toEqual(['POST', '{}'])
    expect(getHeaderValues(arrival, 'content-type')).toEqual(['application/json'])
  },
)

it.each([{}, { body: '' }])('forwards a request of JSON with %j with an empty JSON object', async (sent) => {
  const { gateway, upstream } = shared
  await gateway.post('/v1/table/orders/describe', sent)
  const [arrival = { rawHeaders: [], body: undefined }] = upstream.requests
  expect(String(await arrival.body)).toBe('{}')
  expect(getHeaderValues(arrival, 'content-type')).toEqual(['application/json'])
})

it('forwards a chunked body with its length', async () => {
  const { gateway, upstream } = shared
  await gateway.post(target, { body: Readable.from(['{"k"', ':', '1}'], { objectMode: false }) })
  const [arrival = { rawHeaders: [], body: undefined }] = upstream.requests
  expect([String(await arrival.body), getHeaderValues(arrival, 'content-length')]).toEqual(['{"k":1}', ['7']])
})

it('accepts a namespace named "id" in a bare map of metadata', async () => {
  const { gateway, upstream } = shared
  const body = '{"id":"7","identity":"the team","context":"x","Id":"8"}'
  const response = await gateway.post('/v1/table/orders/schema_metadata/update', { body })
  expect(response).toMatchObject({ status: 200 })
  expect(String(await upstream.requests[0]?.body)).toBe(body)
})

it.each([
  undefined,
  'application/json',
  'application/json; charset=utf-8',
  'application/json;charset="UTF-8"',
  'Application/JSON ; charset=utf8',
])('accepts JSON as %j', async (type) => {
  const { gateway, upstream } = shared
  const headers = type === undefined ? {} : { 'content-type': type }
  expect(await gateway.post(target, { body: '{"k":1}', headers })).toMatchObject({ status: 200 })
  expect(getHeaderValues(upstream.requests[0] ?? { rawHeaders: [] }, 'content-type')).toEqual([
    'application/json',
  ])
})

it.each([undefined, 'application/octet-stream', 'application/vnd.apache.arrow.stream'])(
  'accepts Arrow as %j',
  async (type) => {
    const { gateway, upstream } = shared
    const headers = type === undefined ? {} : { 'content-type': type }
    expect(await gateway.post('/v1/table/orders/insert', { body: arrowUpload, headers })).toMatchObject({
      status: 200,
    })
    const [arrival = { rawHeaders: [], body: undefined }] = upstream.requests
    expect(getHeaderValues(arrival, 'content-type')).toEqual(['application/vnd.apache.arrow.stream'])
    expect(await arrival.body).toEqual(arrowUpload)
  },
)

it.each([
  ['JSON', target, 'application/json', Buffer.from('{}')],
  ['Arrow', '/v1/table/orders/insert', 'application/vnd.apache.arrow.stream', arrowUpload],
])('accepts and removes the content-encoding identity: %s', async (_what, target, type, body) => {
  const { gateway, upstream } = shared
  const headers = { 'content-type': type, 'content-encoding': 'identity' }
  expect(await gateway.post(target, { headers, body })).toMatchObject({ status: 200 })
  const [arrival] = upstream.requests
  expect(await arrival?.body).toEqual(body)
  expect(getHeaderValues(arrival ?? { rawHeaders: [] }, 'content-encoding')).toEqual([])
})
