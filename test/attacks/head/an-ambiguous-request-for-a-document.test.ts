import { expect, it } from 'vitest'
import { expectError, type ExpectedError } from '../../gateway/support/expect-error.ts'
import { sendRaw, rawRequest } from '../../gateway/support/raw-request.ts'
import { attackedGateway } from '../support/attacked-gateway.ts'
import { eventually } from '../../support/eventually.ts'

// Documents are public, but their requests must be as unambiguous as any other: a proxy in front must not see another
// end of the request, or another host.
const attacked = attackedGateway()
const document = 'GET /openapi.json HTTP/1.1'
const smuggled = 'POST /v1/table/production/drop HTTP/1.1\r\nhost: g\r\ncontent-length: 0\r\n\r\n'
const malformed: ExpectedError = { kind: 'InvalidInput', says: 'malformed HTTP request' }

it.each<[label: string, lines: string[], body: string, ExpectedError]>([
  ['two hosts', [document, 'host: a', 'host: b'], '', { kind: 'InvalidInput', says: 'repeated' }],
  ['a host with a path', [document, 'host: a/b'], '', { kind: 'InvalidInput', says: 'invalid host header' }],
  [
    'a host with user information',
    [document, 'host: user:password@a'],
    '',
    { kind: 'InvalidInput', says: /^invalid host header[^@]*$/ },
  ],
  [
    'a key listed in Connection',
    [document, 'host: a', 'connection: x-api-key'],
    '',
    { kind: 'InvalidInput', says: 'lists' },
  ],
  [
    'a reserved context key',
    [document, 'host: a', 'x-catalog-ctx-gateway-user: root'],
    '',
    { kind: 'InvalidInput', says: 'reserved' },
  ],
  ['two lengths', [document, 'host: a', 'content-length: 0', 'content-length: 5'], smuggled, malformed],
  [
    'a body',
    [document, 'host: a', `content-length: ${smuggled.length}`, 'connection: close'],
    smuggled,
    { kind: 'InvalidInput', says: 'unexpected body in a GET request' },
  ],
  [
    'another method',
    ['POST /openapi.json HTTP/1.1', 'host: a', 'content-length: 0', 'connection: close'],
    '',
    { kind: 'Unsupported', status: 405, says: 'use GET' },
  ],
])('rejects a request for a document with %s', async (_label, lines, body, expected) => {
  const isOpen = !lines.some((line) => line.startsWith('connection: close'))
  const closing = isOpen ? rawRequest(['GET /nothing HTTP/1.1', 'host: a', 'connection: close']) : ''
  const [refused] = await sendRaw(attacked.gateway.url, rawRequest(lines, body) + closing)
  expectError(refused, expected)
  expect(attacked.upstream.requests).toEqual([])
})

it('closes the connection if the body waits for 100 Continue', async () => {
  const { gateway } = attacked
  // A client that gets a response before 100 Continue may send its next request instead of the body.
  const held = rawRequest([document, 'host: g', 'expect: 100-continue', `content-length: ${smuggled.length}`])
  const responses = await sendRaw(gateway.url, held + smuggled)
  expect(responses).toHaveLength(1)
  expect(responses[0]?.headers['connection']).toBe('close')
  expectError(responses[0], { kind: 'InvalidInput', says: 'unexpected body in a GET request' })
})

it('a request for a document has an id and is counted', async () => {
  const { gateway } = attacked
  const [response] = await sendRaw(
    gateway.url,
    rawRequest([document, 'host: g', 'x-request-id: doc-1', 'connection: close']),
  )
  expect(response).toMatchObject({ status: 200, headers: { 'x-request-id': 'doc-1' } })
  await eventually(async () => {
    const metrics = await gateway.metrics()
    expect(metrics).toMatch(
      /^catalog_gateway_requests_total\{operation="openapi",status="200",decision="none"\} [1-9]/m,
    )
  })
})
