import { expect, it } from 'vitest'
import type { ExpectedError } from '../gateway/support/expect-error.ts'
import { attackedGateway } from './attacked-gateway.ts'

const attacked = attackedGateway()
const malformedTarget: ExpectedError = {
  kind: 'InvalidInput',
  says: /must be percent-encoded, or is not a path|malformed HTTP/,
}

it.each<[method: string, target: string, ExpectedError]>([
  ['POST', 'http://inside.example/v1/table/production/drop', malformedTarget],
  ['GET', 'http://127.0.0.1:2334/metrics', malformedTarget],
  ['OPTIONS', '*', malformedTarget],
  ['POST', 'v1/table/production/drop', malformedTarget],
  ['POST', '/v1/table/sandbox$x/describe#/../drop', malformedTarget],
  ['POST', '/v1/table/sandbox$x/describe?a=b#c', { kind: 'InvalidInput', says: 'must be percent-encoded' }],
  ['POST', '/v1/table/production;sandbox/drop', { kind: 'PermissionDenied', says: '"production;sandbox"' }],
  ['POST', '/V1/TABLE/production/drop', { kind: 'Unsupported', status: 404, says: 'unknown route' }],
  ['POST', '/v1/table/sandbox$\xe9/describe', malformedTarget],
  ['POST', '/v1/table/sandbox$x/describe?delimiter=\xa0', malformedTarget],
  ['POST', '/v1/table/sandbox$\xc3\xa9/describe', malformedTarget],
  ['POST', '/v1/table/sandbox$x%/describe', malformedTarget],
  ['POST', '/v1/table/sandbox$x%4/describe', malformedTarget],
  ['POST', '/v1/table/sandbox$x|/describe', malformedTarget],
])('%s %s is rejected', async (method, target, expected) => {
  await attacked.expectRefused({ method, target }, expected)
})

it.each([
  ['many bytes', `sandbox$${'x'.repeat(4_100)}`, /at most 4096|longer than 4096/],
  ['8 KiB', `sandbox$${'x'.repeat(8_192)}`, /at most 4096|longer than 4096/],
  ['many bytes of few characters', `sandbox$${'%E2%82%AC'.repeat(1_400)}`, /at most 4096|longer than 4096/],
  ['many parts', `sandbox${'$x'.repeat(64)}`, /has 65 parts; an id has at most 64/],
])('rejects an id of %s', async (_label, id, says) => {
  await attacked.expectRefused({ target: `/v1/table/${id}/describe` }, { kind: 'InvalidInput', says })
})

it('a semicolon is part of the name and starts no path parameters', async () => {
  const arrival = await attacked.expectForwarded({ target: '/v1/table/sandbox$x;delimiter=./describe' })
  expect(arrival.target).toBe('/v1/table/sandbox%24x%3Bdelimiter%3D./describe')
})
