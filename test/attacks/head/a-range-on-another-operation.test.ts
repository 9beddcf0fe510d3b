import { expect, it } from 'vitest'
import { getOperation, operationNames } from '../../../src/catalog-api/operations.ts'
import { createMinimalRequest } from '../../gateway/support/minimal-request.ts'
import { getHeaderValues, respondWith } from '../../gateway/support/recording-upstream.ts'
import { attackedGateway } from '../support/attacked-gateway.ts'

// A part of a listing or of a description is no JSON, and could look like another one; a condition reveals whether something
// has changed. So only reads of blobs have them.
const attacked = attackedGateway()
const names = ['range', 'if-range', 'if-none-match', 'if-match', 'if-modified-since', 'if-unmodified-since']
const lines = [
  'range: bytes=0-0',
  'if-range: "v1"',
  'if-none-match: *',
  'if-match: "v1"',
  'if-modified-since: Wed, 21 Oct 2026 07:28:00 GMT',
  'if-unmodified-since: Wed, 21 Oct 2026 07:28:00 GMT',
]
const others = operationNames
  .map(getOperation)
  .filter(({ lists, body }) => lists === undefined && body === 'json')

it('reaches no upstream', async () => {
  for (const { name } of others) {
    const { method, path, members } = createMinimalRequest(name)
    attacked.upstream.requests.length = 0
    await attacked.send({
      as: 'dev',
      method,
      target: path,
      lines: [...lines, 'content-type: application/json'],
      ...(members && { body: members }),
    })
    const [arrival] = attacked.upstream.requests
    const sent = names.filter((header) => arrival && getHeaderValues(arrival, header).length > 0)
    expect({ name, arrived: arrival !== undefined, sent }).toEqual({ name, arrived: true, sent: [] })
  }
})

it('nor do conditions that no client sends reach it with a blob', async () => {
  const target = '/v1/table/sandbox$t/blob/image/7/bytes'
  const arrival = await attacked.expectForwarded({ as: 'owner', method: 'GET', target, lines })
  expect(names.filter((header) => getHeaderValues(arrival, header).length > 0)).toEqual(names.slice(0, 3))
})

it('an upstream that responds with a part all the same is not believed', async () => {
  const headers = { 'content-type': 'application/json', 'content-range': 'bytes 0-1/100', etag: '"v1"' }
  attacked.upstream.handler = respondWith(206, '{}', headers)
  const response = await attacked.send({ as: 'dev', lines })
  expect(response?.status).toBe(502)
  expect(response?.headers['content-range']).toBe(undefined)
})

it('validators of other responses stay with the gateway', async () => {
  const headers = { etag: '"v1"', 'last-modified': 'now', 'accept-ranges': 'bytes', 'content-range': 'x' }
  attacked.upstream.handler = respondWith(200, {}, { 'content-type': 'application/json', ...headers })
  const response = await attacked.send({ as: 'dev' })
  expect(response?.status).toBe(200)
  for (const name of Object.keys(headers)) expect(response?.headers[name]).toBe(undefined)
})
