import { expect, it } from 'vitest'
import { getOperation, operationNames, type OperationName } from '../../../src/catalog-api/operations.ts'
import { createMinimalRequest } from '../support/minimal-request.ts'
import { withUpstream } from '../support/open-gateway.ts'
import { respondWith, getHeaderValues } from '../support/recording-upstream.ts'
import { startGatewayAndUpstream, useSharedGateway } from '../support/running-gateway.ts'
import { arrowUpload } from '../../support/arrow-upload.ts'

const shared = useSharedGateway()

const queries: Partial<Record<OperationName, string>> = { MergeInsertIntoTable: 'on=order%20id&on=line' }

it('forwards every operation with its canonical target, without credentials of the client', async () => {
  const { gateway, upstream } = shared
  upstream.handler = respondWith(200, { fine: true })
  for (const name of operationNames) {
    const { method, path, body, object, lists, multipart } = getOperation(name)
    // Responses that the gateway composes itself: see listings-*.test.ts.
    if (lists !== undefined) continue
    // Only an id that the gateway has sealed: see multipart-writes.test.ts.
    if (multipart === 'names') continue
    // On a route without an id, the delimiter applies to the names in the response.
    const query = object === 'none' ? 'delimiter=.' : queries[name]
    const sent = path
      .replace('{id}', 'sales.orders')
      .replace('{index_name}', 'by%5Fday')
      .replace('{column}', 'by%5Fday')
      .replace('{row_id}', '7')
    const json = body === 'arrow' || method === 'GET' ? undefined : createMinimalRequest(name).members
    const response = await gateway.send(
      method,
      `${sent}/?delimiter=.${queries[name] ? `&${queries[name]}` : ''}`,
      {
        headers: { 'x-api-key': gateway.key('dev'), cookie: 'session=1', 'x-catalog-ctx-a': 'd' },
        ...(body === 'arrow' && { body: arrowUpload }),
        ...(json && { body: json }),
      },
    )
    expect({ name, status: response.status, json: response.json }).toEqual({
      name,
      status: 200,
      json: { fine: true },
    })
    const canonical = path
      .replace('{id}', 'sales%24orders')
      .replace('{index_name}', 'by_day')
      .replace('{column}', 'by_day')
      .replace('{row_id}', '7')
    const arrival = upstream.requests.pop()
    expect(arrival).toMatchObject({ method, target: query ? `${canonical}?${query}` : canonical })
    expect(upstream.requests.splice(0)).toEqual([])
    const rest = arrival ?? { rawHeaders: [] }
    expect(getHeaderValues(rest, 'content-type')).toEqual(
      body === 'arrow' ? ['application/vnd.apache.arrow.stream'] : json ? ['application/json'] : [],
    )
    expect(getHeaderValues(rest, 'host')).toEqual([new URL(upstream.url).host])
    expect(getHeaderValues(rest, 'x-request-id')).toEqual([response.headers['x-request-id']])
    expect(getHeaderValues(rest, 'x-catalog-ctx-a')).toEqual(['d'])
    for (const stripped of ['x-api-key', 'authorization', 'cookie']) {
      expect(getHeaderValues(rest, stripped)).toEqual([])
    }
    const sentBody = body === 'arrow' ? arrowUpload : Buffer.from(json ? JSON.stringify(json) : '')
    expect(await arrival?.body).toEqual(sentBody)
  }
})

// Every canonical form is in catalog-api/request-target.test.ts.
it.each([
  ['GET', '/v1/table/t/tags/list/?limit=&page_token=', 'POST', '/v1/table/t/tags/list'],
  ['POST', '/v1/table/a::b%20c/describe?delimiter=%3A%3A', 'POST', '/v1/table/a%24b%20c/describe'],
  ['POST', '/v1/table/t/create-empty', 'POST', '/v1/table/t/declare'],
] as const)('%s %s is forwarded as %s %s', async (method, target, canonicalMethod, canonical) => {
  const { gateway, upstream } = shared
  expect(await gateway.send(method, target)).toMatchObject({ status: 200 })
  expect(upstream.requests).toMatchObject([{ method: canonicalMethod, target: canonical }])
})

it('an upstream may have a base path and another delimiter', async () => {
  const { gateway, upstream } = await startGatewayAndUpstream(
    withUpstream(({ url }) => ({ url: `${url}/catalog/`, delimiter: '::' })),
  )
  await gateway.post('/v1/table/sales$orders/describe')
  await gateway.post('/v1/namespace/$/describe')
  expect(upstream.requests.map(({ target }) => target)).toEqual([
    '/catalog/v1/table/sales%3A%3Aorders/describe?delimiter=%3A%3A',
    '/catalog/v1/namespace/%3A%3A/describe?delimiter=%3A%3A',
  ])
})
