import { expect, it } from 'vitest'
import { expectError } from '../support/expect-error.ts'
import { sendRaw } from '../support/raw-request.ts'
import { respondWith, getHeaderValues } from '../support/recording-upstream.ts'
import { useSharedGateway } from '../support/running-gateway.ts'

const shared = useSharedGateway()
const target = '/v1/table/orders/describe'

it('forwards a valid request id of the client', async () => {
  const { gateway, upstream } = shared
  const headers = { 'x-request-id': 'build-17.step_3' }
  expect(await gateway.post(target, { headers })).toMatchObject({ headers })
  expect(upstream.requests.flatMap((arrival) => getHeaderValues(arrival, 'x-request-id'))).toEqual([
    'build-17.step_3',
  ])
  const refused = await gateway.post(target, { headers, as: null })
  expect(refused).toMatchObject({ headers, json: { instance: 'build-17.step_3' } })
})

it.each(['', 'two words', 'x'.repeat(129), '../../etc', '<b>'])(
  'replaces the invalid request id %j',
  async (stated) => {
    const { gateway, upstream } = shared
    const { headers } = await gateway.post(target, { headers: { 'x-request-id': stated } })
    expect(headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/)
    const [arrival = { rawHeaders: [] }] = upstream.requests
    expect(getHeaderValues(arrival, 'x-request-id')).toEqual([headers['x-request-id']])
  },
)

it('ignores a request id of the upstream', async () => {
  const { gateway, upstream } = shared
  const headers = { 'content-type': 'application/json', 'x-request-id': 'theirs' }
  upstream.handler = respondWith(200, {}, headers)
  expect((await gateway.post(target)).headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/)
  upstream.handler = respondWith(404, { error: 'no such table', code: 4, instance: 'theirs' }, headers)
  expectError(await gateway.post(target), { kind: 'TableNotFound', says: 'no such table' })
})

it('replaces a repeated request id', async () => {
  const { gateway } = shared
  const { url } = gateway
  const repeated = 'x-request-id: one\r\nx-request-id: two\r\n'
  const [response] = await sendRaw(
    url,
    `POST ${target} HTTP/1.1\r\nhost: a\r\n${repeated}content-length: 0\r\nconnection: close\r\n\r\n`,
  )
  expect(response?.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/)
})
