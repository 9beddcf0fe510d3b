import { gzipSync } from 'node:zlib'
import { expect, it } from 'vitest'
import { errorCodes } from '../../../src/catalog-api/catalog-error.ts'
import { expectError, expectUnknownOutcome, type ExpectedError } from '../support/expect-error.ts'
import { respondWith, type RequestHandler } from '../support/recording-upstream.ts'
import { useSharedGateway } from '../support/running-gateway.ts'

const shared = useSharedGateway()
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
    { kind: 'Internal', says: /^the upstream failed to process the request$/ },
  ],
  [
    'the place of an error in a Rust library',
    400,
    {
      error:
        'Invalid user input: no column a, location: Location { file: "/root/.cargo/lance/src/x.rs", line: 7, column: 9 }',
      code: 13,
    },
    { kind: 'InvalidInput', says: /^Invalid user input: no column a$/ },
  ],
  ['plain text', 400, 'Failed to parse the body', { kind: 'InvalidInput', says: 'status 400' }],
  ['no body', 404, '', { kind: 'Unsupported', status: 404, says: 'status 404' }],
  ['a method it lacks', 405, '', { kind: 'Unsupported', status: 405, says: 'status 405' }],
  ['an operation it lacks', 501, '', { kind: 'Unsupported', says: /^the upstream does not have this op/ }],
  [
    'an operation it lacks, as an internal error',
    500,
    { error: 'Not supported: rename_table not implemented', code: 18 },
    { kind: 'Unsupported', says: /^the upstream does not have this operation$/ },
  ],
  [
    'an operation it lacks, as a failure with the right code',
    500,
    { error: trace, code: 0 },
    { kind: 'Unsupported', says: /^the upstream does not have this operation$/ },
  ],
  ['busy', 429, { message: 'slow down' }, { kind: 'Throttling', says: 'status 429' }],
  ['unavailable', 503, { error: 'restarting', code: 17 }, { kind: 'ServiceUnavailable', says: 'failed' }],
  [
    'an error that is no text',
    400,
    { error: { message: 'x' } },
    { kind: 'InvalidInput', says: 'status 400' },
  ],
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
  upstream.handler = respondWith(status, body, headers)
  for (const target of ['/v1/table/orders/describe', '/v1/table/orders/drop']) {
    const response = await gateway.post(target)
    expectError(response, expected)
    expect(response.headers).not.toHaveProperty('location')
    expect(response.headers).not.toHaveProperty('x-inside')
  }
})

it('HTML of a proxy (502) says nothing of what became of a change', async () => {
  const { gateway, upstream } = shared
  upstream.handler = respondWith(502, '<h1>Bad Gateway</h1>', { 'content-type': 'text/html' })
  const failed = { kind: 'ServiceUnavailable', status: 502, says: 'failed' } as const
  expectError(await gateway.post('/v1/table/orders/describe'), failed)
  expectUnknownOutcome(await gateway.post('/v1/table/orders/drop'), 'failed')
})

it('an error text loses the control characters that a terminal would obey', async () => {
  const { gateway, upstream } = shared
  upstream.handler = respondWith(400, { error: '\u001b[31mred\u0007\u009b1m', code: 13 })
  const response = await gateway.get('/v1/table/orders/tags/list')
  expectError(response, { kind: 'InvalidInput', says: /^\[31mred1m$/u })
})

it.each<[what: string, status: number, sent: unknown, context: Record<string, string> | undefined]>([
  ['strings', 404, { table: 'orders', 'db.region': 'eu' }, { table: 'orders', 'db.region': 'eu' }],
  ['only strings', 404, { a: 1, b: null, c: { d: 'x' }, e: ['x'], f: 'x' }, { f: 'x' }],
  ['no names that are none', 404, { '': 'x', '1': 'x', 'a b': 'x', [`a${'b'.repeat(64)}`]: 'x' }, undefined],
  ['the first line, without paths', 404, { at: `in /srv/x.py\n${trace}`, only: '' }, { at: 'in [path]' }],
  [
    'no secrets',
    404,
    { aws_secret_access_key: 'a b c', token: 'eyJhbGci.e30.x', id: 'AKIAABCDEFGHIJKLMNOP' },
    { aws_secret_access_key: '[redacted]', token: '[redacted]', id: '[redacted]' },
  ],
  ['16 entries', 404, entries(20), entries(16)],
  ['500 characters', 404, { a: 'x'.repeat(10_000) }, { a: 'x'.repeat(498) }],
  ['nothing of a failure', 500, { table: 'orders' }, undefined],
  ['nothing of a text', 404, 'orders', undefined],
  ['nothing of a list', 404, ['orders'], undefined],
])('of the context of an error, %s', async (_what, status, sent, context) => {
  const { gateway, upstream } = shared
  upstream.handler = respondWith(status, { error: 'no table', code: 4, context: sent })
  for (const target of ['/v1/table/orders/describe', '/v1/table/orders/drop']) {
    const { json } = await gateway.post(target)
    expect((json as { context?: unknown }).context).toEqual(context)
  }
})

function entries(count: number): Record<string, string> {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, String(index)]))
}

/** Sends the head of a 413 and a part of its body. */
function brokenOff(text: string): RequestHandler {
  return (_arrival, response) => {
    response.writeHead(413, { 'content-length': 100_000, 'content-type': 'application/json' })
    response.write(text, () => response.destroy())
  }
}

const noTable = JSON.stringify({ error: 'no table', code: 4 })

/** Compressed, although the gateway has requested no content coding. */
function inCoding(coding: string, body: Buffer): RequestHandler {
  return respondWith(404, body, { 'content-type': 'application/json', 'content-encoding': coding })
}

it.each<[what: string, RequestHandler, ExpectedError]>([
  [
    'larger than anybody reads',
    respondWith(413, 'x'.repeat(1024 * 1024)),
    { kind: 'InvalidInput', status: 413, says: 'status 413' },
  ],
  ['endless', endlessly(413), { kind: 'InvalidInput', status: 413, says: 'status 413' }],
  ['broken off', brokenOff('{"error":"too'), { kind: 'InvalidInput', status: 413, says: 'status 413' }],
  [
    'compressed',
    inCoding('gzip', gzipSync(noTable)),
    { kind: 'Unsupported', status: 404, says: 'has the content-encoding "gzip"' },
  ],
  [
    'not in its content coding',
    inCoding('gzip', Buffer.from(noTable)),
    { kind: 'TableNotFound', says: /^no table$/ },
  ],
  [
    'behind a byte order mark',
    respondWith(404, `\ufeff${noTable}`),
    { kind: 'TableNotFound', says: /^no table$/ },
  ],
  [
    'JSON under another name',
    respondWith(404, '{"error":"no table","code":4}', { 'content-type': 'text/html' }),
    { kind: 'TableNotFound', says: /^no table$/ },
  ],
  [
    'in no encoding there is',
    respondWith(400, Buffer.from([0xff, 0xfe, 0x00])),
    { kind: 'InvalidInput', says: 'status 400' },
  ],
])('an error whose body is %s', async (_what, handler, expected) => {
  const { gateway, upstream } = shared
  upstream.handler = handler
  for (const target of ['/v1/table/orders/describe', '/v1/table/orders/drop']) {
    const response = await gateway.post(target)
    expectError(response, expected)
    expect(response.headers).not.toHaveProperty('content-encoding')
  }
  const outcomes = await gateway.recorded('outcome')
  expect(outcomes.at(-1)).toMatchObject({
    result: 'rejected',
    status: expected.status ?? errorCodes[expected.kind].status,
  })
})

function endlessly(status: number): RequestHandler {
  return (_arrival, response) => {
    response.writeHead(status)
    const push = (): void => {
      while (!response.destroyed && response.write('x'.repeat(16 * 1024)));
    }
    response.on('drain', push)
    push()
  }
}

it('sends no length for a response without content, also if it was buffered', async () => {
  const { gateway, upstream } = shared
  upstream.handler = (_arrival, response) => response.writeHead(204).end()
  for (const target of ['/v1/namespace/a/exists', '/v1/namespace/a/drop']) {
    const response = await gateway.post(target)
    expect(response.status).toBe(204)
    expect(response.headers).not.toHaveProperty('content-length')
    expect(response.headers).not.toHaveProperty('transfer-encoding')
  }
})

it('forwards retry-after', async () => {
  const { gateway, upstream } = shared
  upstream.handler = respondWith(503, '', { 'retry-after': '7' })
  expect(await gateway.post('/v1/table/orders/describe')).toMatchObject({ headers: { 'retry-after': '7' } })
})
