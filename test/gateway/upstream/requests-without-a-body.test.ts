import { expect, it } from 'vitest'
import { respondWith } from '../support/recording-upstream.ts'
import { useSharedGateway } from '../support/running-gateway.ts'

const shared = useSharedGateway()

it.each([{}, { body: '' }])('an upstream gets an empty object for a JSON operation with %j', async (sent) => {
  const { gateway, upstream } = shared
  upstream.answering = respondWith(200, {})
  await gateway.post('/v1/table/orders/describe', sent)
  const arrival = upstream.requests.at(-1)
  expect(String(await arrival?.body)).toBe('{}')
  expect(arrival?.rawHeaders.join('\n').toLowerCase()).toContain('content-type\napplication/json')
})

it('an upstream gets no body with a GET', async () => {
  const { gateway, upstream } = shared
  upstream.answering = respondWith(200, { namespaces: [] })
  await gateway.get('/v1/namespace/$/list')
  expect(String(await upstream.requests.at(-1)?.body)).toBe('')
})
