import { expect, it } from 'vitest'
import { expectError, type ExpectedError } from '../../gateway/support/expect-error.ts'
import { rawRequest, sendRaw } from '../../gateway/support/raw-request.ts'
import { attackedGateway } from '../support/attacked-gateway.ts'

// Proxies and servers behind the gateway read another path than the routed one: they resolve dot segments, take a backslash
// for a slash, or a host of the target. The grammar of targets and ids is in catalog-api/request-target.test.ts.
const attacked = attackedGateway()
const malformedTarget: ExpectedError = {
  kind: 'InvalidInput',
  says: /must be percent-encoded, or is not a path|malformed HTTP/,
}
const otherOrigin: ExpectedError = {
  kind: 'InvalidInput',
  says: /^the request target is a URL; expected a path, [^"@]*$/,
}

it.each<[method: string, target: string, ExpectedError]>([
  ['POST', 'http://inside.example/v1/table/sandbox$x/describe', otherOrigin],
  ['POST', 'http://gateway.example:80/v1/table/sandbox$x/describe', otherOrigin],
  ['POST', 'http://gateway.example.inside.example/v1/table/sandbox$x/describe', otherOrigin],
  ['GET', 'http://inside.example/openapi.json', otherOrigin],
  ['POST', 'https://gateway.example/v1/table/sandbox$x/describe', otherOrigin],
  ['POST', 'http://user@gateway.example/v1/table/sandbox$x/describe', otherOrigin],
  ['POST', 'http://gateway.example@inside.example/v1/table/sandbox$x/describe', otherOrigin],
  ['POST', 'http://gateway.example', otherOrigin],
  ['POST', 'http://gateway.example?/v1/table/sandbox$x/describe', otherOrigin],
  ['POST', 'http://gateway.example\\@inside.example/v1/table/sandbox$x/describe', malformedTarget],
  ['POST', 'http:///v1/table/sandbox$x/describe', malformedTarget],
  ['POST', 'HTTP://gateway.example/v1/table/sandbox$x/describe', malformedTarget],
  [
    'POST',
    'http://gateway.example/v1/table/production/drop',
    { kind: 'PermissionDenied', says: 'DropTable' },
  ],
  [
    'POST',
    '//gateway.example/v1/table/sandbox$x/describe',
    { kind: 'Unsupported', status: 404, says: 'unknown' },
  ],
  ['OPTIONS', '*', malformedTarget],
  ['POST', '/v1/table/production;sandbox/drop', { kind: 'PermissionDenied', says: '"production;sandbox"' }],
  ['POST', '/v1/table/sandbox$\xe9/describe', malformedTarget],
])('%s %s is rejected', async (method, target, expected) => {
  await attacked.expectRefused({ method, target }, expected)
})

it.each([
  ['many bytes', `sandbox$${'x'.repeat(4_100)}`, /at most 4096|longer than 4096/],
  ['many parts', `sandbox${'$x'.repeat(64)}`, /has 65 parts; an id has at most 64/],
])('rejects an id of %s', async (_label, id, says) => {
  await attacked.expectInvalid({ target: `/v1/table/${id}/describe` }, says)
})

it('an absolute target of the same host is forwarded as a path', async () => {
  const target = 'http://gateway.example/v1/table/sandbox$x/describe'
  expect((await attacked.expectForwarded({ target })).target).toBe('/v1/table/sandbox%24x/describe')
})

it('an absolute target without a host header is rejected', async () => {
  const bytes = rawRequest(['GET http://g/openapi.json HTTP/1.0'])
  const [response] = await sendRaw(attacked.gateway.url, bytes)
  expectError(response, { kind: 'InvalidInput', says: 'expected a path' })
})

it('a semicolon is part of the name and starts no path parameters', async () => {
  const arrival = await attacked.expectForwarded({ target: '/v1/table/sandbox$x;delimiter=./describe' })
  expect(arrival.target).toBe('/v1/table/sandbox%24x%3Bdelimiter%3D./describe')
})

it.each([
  '/v1/table/sandbox$x\\..\\production/version/create',
  '/v1/table/sandbox$x/describe?\\..\\..\\production/drop',
])('rejects a backslash that becomes a slash: %s', async (target) => {
  const says = /must be percent-encoded|malformed HTTP/
  await attacked.expectInvalid({ target }, says)
})

it('rejects an encoded backslash, and forwards one in a parameter encoded', async () => {
  await attacked.expectInvalid(
    { target: '/v1/table/sandbox$x%5C..%5Cproduction/describe' },
    /contains "\\\\", which is not allowed in a name$/,
  )
  const target = '/v1/table/sandbox%24orders/tags/list?page_token=a%5C..%5Cb'
  expect((await attacked.expectForwarded({ method: 'GET', target })).target).toBe(target)
})

const segment: ExpectedError = { kind: 'InvalidInput', says: 'is a path segment' }
const unknown: ExpectedError = { kind: 'Unsupported', status: 406, says: 'unknown route' }

it.each<[target: string, ExpectedError]>([
  ['/v1/table/../describe', segment],
  ['/v1/table/sandbox$%2E%2E$production/describe', segment],
  ['/v1/table/sandbox$x/index/../stats', segment],
  ['/v1/table/sandbox$x/../production/drop', unknown],
])('rejects dot segments after routing: %s', async (target, expected) => {
  await attacked.expectRefused({ target }, expected)
})
