import { expect, it } from 'vitest'
import { expectError, type ExpectedError } from './expect-error.ts'
import { answers } from './recording-upstream.ts'
import { sharedGateway } from './running-gateway.ts'

const shared = sharedGateway()
const trace = 'Traceback: at Catalog.describe (/srv/catalog/server.ts:10)'

it.each<[what: string, status: number, body: string | object, ExpectedError]>([
  [
    'an error of the interface keeps code and message',
    404,
    { error: 'no table "orders"', code: 4 },
    { kind: 'TableNotFound', says: /^no table "orders"$/ },
  ],
  [
    'a code counts more than the status',
    400,
    { error: 'the version exists', code: 14 },
    { kind: 'ConcurrentModification', status: 400, says: 'the version exists' },
  ],
  [
    'a detail is not passed on',
    409,
    { error: 'it exists', code: 5, detail: trace, instance: 'theirs', stack: trace },
    { kind: 'TableAlreadyExists', says: /^it exists$/ },
  ],
  [
    'the message of a failure is not passed on',
    500,
    { error: trace, code: 18 },
    { kind: 'Internal', says: /^the catalog failed to answer the request$/ },
  ],
  ['plain text', 400, 'Failed to parse the body', { kind: 'InvalidInput', says: 'status 400' }],
  ['plain text of a size', 413, 'too big', { kind: 'InvalidInput', status: 413, says: 'status 413' }],
  ['a shape of its own', 422, 'missing field', { kind: 'InvalidInput', status: 422, says: 'status 422' }],
  ['no body', 404, '', { kind: 'Unsupported', status: 404, says: 'status 404' }],
  ['a method it lacks', 405, '', { kind: 'Unsupported', status: 405, says: 'status 405' }],
  [
    'HTML of a proxy',
    502,
    '<h1>Bad Gateway</h1>',
    { kind: 'ServiceUnavailable', status: 502, says: 'failed' },
  ],
  ['busy', 429, { message: 'slow down' }, { kind: 'Throttling', says: 'status 429' }],
  ['unavailable', 503, { error: 'restarting', code: 17 }, { kind: 'ServiceUnavailable', says: 'failed' }],
  [
    'an error that is no text',
    400,
    { error: { message: 'x' } },
    { kind: 'InvalidInput', says: 'status 400' },
  ],
  ['a list', 409, [1], { kind: 'ConcurrentModification', says: 'status 409' }],
  ['a code that is none', 409, { error: 'x', code: 99 }, { kind: 'ConcurrentModification', says: /^x$/ }],
  [
    'a code that is a fraction',
    404,
    { error: 'x', code: 4.5 },
    { kind: 'Unsupported', status: 404, says: 'x' },
  ],
  [
    'a redirect, which would lead around the gateway',
    307,
    '',
    { kind: 'ServiceUnavailable', status: 502, says: /the catalog/ },
  ],
])('%s (%i)', async (_what, status, body, expected) => {
  const { gateway, upstream } = shared
  const headers = { 'content-type': 'text/plain', location: 'http://inside.example/', 'x-inside': '1' }
  upstream.answering = answers(status, body, headers)
  for (const target of ['/v1/table/orders/describe', '/v1/table/orders/drop']) {
    const answer = await gateway.post(target)
    expectError(answer, expected)
    expect(answer.headers).not.toHaveProperty('location')
    expect(answer.headers).not.toHaveProperty('x-inside')
  }
})

it('when to come again is passed on', async () => {
  const { gateway, upstream } = shared
  upstream.answering = answers(503, '', { 'retry-after': '7' })
  expect(await gateway.post('/v1/table/orders/describe')).toMatchObject({ headers: { 'retry-after': '7' } })
})
