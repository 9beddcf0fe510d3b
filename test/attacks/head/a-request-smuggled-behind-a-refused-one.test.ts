import { expect, it } from 'vitest'
import { expectError, type ExpectedError } from '../../gateway/support/expect-error.ts'
import { sendRaw, rawRequest, readRaw } from '../../gateway/support/raw-request.ts'
import { respondWith } from '../../gateway/support/recording-upstream.ts'
import { createDeferred } from '../../gateway/support/waiting.ts'
import { attackedGateway } from '../support/attacked-gateway.ts'
import { eventually } from '../../support/eventually.ts'

// A request that is refused early leaves its body on the connection. The body must not be parsed as a request, and an
// error about one request must not look like the response to another.
const attacked = attackedGateway()
const smuggled = 'POST /v1/table/production/drop HTTP/1.1\r\nhost: g\r\ncontent-length: 0\r\n\r\n'

it.each<[label: string, target: string, keys: string[], body: string, ExpectedError]>([
  [
    'an unknown route',
    '/v1/nothing',
    ['dev'],
    smuggled,
    { kind: 'Unsupported', status: 406, says: 'unknown route' },
  ],
  [
    'an invalid path',
    '/v1/table/a\\b/describe',
    ['dev'],
    smuggled,
    { kind: 'InvalidInput', says: 'is not a path' },
  ],
  [
    'a request without credentials',
    '/v1/table/o/drop',
    [],
    smuggled,
    { kind: 'Unauthenticated', says: 'no credential' },
  ],
  [
    'two credentials',
    '/v1/table/o/drop',
    ['dev', 'writer'],
    smuggled,
    { kind: 'InvalidInput', says: 'repeated' },
  ],
  [
    'a denied request',
    '/v1/table/production/drop',
    ['writer'],
    smuggled,
    { kind: 'PermissionDenied', says: 'DropTable' },
  ],
  [
    'a request without JSON',
    '/v1/table/o/describe',
    ['dev'],
    smuggled,
    { kind: 'InvalidInput', says: 'not valid JSON' },
  ],
])('does not parse the body of %s as a request', async (_label, target, keys, body, expected) => {
  const { gateway, upstream } = attacked
  const credentials = keys.map((name) => `x-api-key: ${gateway.key(name)}`)
  for (const framing of ['length', 'chunks']) {
    const header = framing === 'length' ? `content-length: ${body.length}` : 'transfer-encoding: chunked'
    const sent = framing === 'length' ? body : `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`
    const [refused, next, ...others] = await sendRaw(
      gateway.url,
      rawRequest([`POST ${target} HTTP/1.1`, 'host: g', ...credentials, header], sent) +
        rawRequest([
          'GET /v1/table/o/tags/list HTTP/1.1',
          'host: g',
          `x-api-key: ${gateway.key('dev')}`,
          'connection: close',
        ]),
    )
    expectError(refused, expected)
    expect(next?.status).toBe(200)
    expect(others).toEqual([])
    expect(upstream.requests.splice(0)).toMatchObject([{ target: '/v1/table/o/tags/list' }])
  }
})

it.each(['length', 'chunks'])(
  'closes the connection after a body that is too large, by %s',
  async (framing) => {
    const { gateway, upstream } = attacked
    const body = smuggled.repeat(20_000)
    const header = framing === 'length' ? `content-length: ${body.length}` : 'transfer-encoding: chunked'
    const sent = framing === 'length' ? body : `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`
    const key = `x-api-key: ${gateway.key('dev')}`
    const found = await sendRaw(
      gateway.url,
      rawRequest(['POST /v1/table/o/describe HTTP/1.1', 'host: g', key, header], sent) +
        rawRequest(['GET /v1/table/o/tags/list HTTP/1.1', 'host: g', key]),
    )
    expect(found).toHaveLength(1)
    expectError(found[0], { kind: 'InvalidInput', status: 413, says: 'larger than' })
    expect(found[0]?.headers['connection']).toBe('close')
    expect(upstream.requests).toEqual([])
  },
)

it('does not parse an unneeded body as a request', async () => {
  const { gateway, upstream } = attacked
  const found = await sendRaw(
    gateway.url,
    rawRequest(['GET /openapi.json HTTP/1.1', 'host: g', `content-length: ${smuggled.length}`], smuggled) +
      rawRequest(['GET /v1/table HTTP/1.1', 'host: g', 'connection: close']),
  )
  expect(found.map(({ status }) => status)).toEqual([400, 401])
  expect(upstream.requests).toEqual([])
})

it('does not send an error for garbage as the response to the request before it', async () => {
  const { gateway, upstream } = attacked
  const finish = createDeferred()
  upstream.answering = (arrival, response, request) =>
    finish.promise.then(() => respondWith(200, { version: 2 })(arrival, response, request))
  async function* parts(): AsyncGenerator<string> {
    const key = `x-api-key: ${gateway.key('dev')}`
    yield rawRequest(['POST /v1/table/orders/update HTTP/1.1', 'host: g', key, 'content-length: 0'])
    await eventually(() => expect(upstream.requests).toHaveLength(1))
    yield 'garbage\r\n\r\n'
    finish.resolve(undefined)
  }
  expect((await sendRaw(gateway.url, parts())).map(({ status }) => status)).toEqual([200, 400])
})

it('does not send the refusal of a tunnel as the response to the request before it', async () => {
  const { gateway, upstream } = attacked
  const finish = createDeferred()
  upstream.answering = (arrival, response, request) =>
    finish.promise.then(() => respondWith(200, { version: 2 })(arrival, response, request))
  const before = await connectRequests()
  async function* parts(): AsyncGenerator<string> {
    const key = `x-api-key: ${gateway.key('dev')}`
    yield rawRequest(['POST /v1/table/orders/update HTTP/1.1', 'host: g', key, 'content-length: 0'])
    await eventually(() => expect(upstream.requests).toHaveLength(1))
    yield rawRequest(['CONNECT g:443 HTTP/1.1', 'host: g:443'])
    finish.resolve(undefined)
    await eventually(async () => expect(await connectRequests()).toBe(before + 1))
  }
  expect((await sendRaw(gateway.url, parts())).map(({ status }) => status)).toEqual([200, 405])
})

it('closes the connection after an incomplete pipelined request', async () => {
  const { gateway, upstream } = attacked
  const before = await unparsedRequests()
  const finish = createDeferred()
  upstream.answering = (arrival, response, request) =>
    finish.promise.then(() => respondWith(200, { version: 2 })(arrival, response, request))
  const lines = ['POST /v1/table/orders/update HTTP/1.1', 'host: g', `x-api-key: ${gateway.key('dev')}`]
  async function* parts(): AsyncGenerator<string> {
    yield rawRequest([...lines, 'content-length: 0'])
    await eventually(() => expect(upstream.requests).toHaveLength(1))
    yield rawRequest([...lines, 'transfer-encoding: chunked'], '2\r\n{}zz')
    finish.resolve(undefined)
    await eventually(async () => expect(await unparsedRequests()).toBeGreaterThan(before))
  }
  expect((await sendRaw(gateway.url, parts())).map(({ status }) => status)).toEqual([200, 400])
})

it('neither parses the rest of a refused chunked body nor sends a second response', async () => {
  const { gateway, upstream } = attacked
  const lines = ['POST /v1/nothing HTTP/1.1', 'host: g', 'transfer-encoding: chunked']
  async function* parts(): AsyncGenerator<string> {
    const refusedBefore = await refusedRequests()
    yield rawRequest(lines, '2\r\n{}\r\n')
    await eventually(async () => expect(await refusedRequests()).toBeGreaterThan(refusedBefore))
    yield `zz\r\n${smuggled}`
  }
  const found = await sendRaw(gateway.url, parts())
  expect(found.map(({ status }) => status)).toEqual([406])
  expect(upstream.requests).toEqual([])
})

async function refusedRequests(): Promise<number> {
  const metrics = await (await fetch(`${attacked.gateway.adminUrl}/metrics`)).text()
  return Number(/status="406",decision="none"\} (\d+)$/m.exec(metrics)?.[1] ?? 0)
}

async function unparsedRequests(): Promise<number> {
  const metrics = await (await fetch(`${attacked.gateway.adminUrl}/metrics`)).text()
  return Number(/reason="malformed_request"\} (\d+)$/m.exec(metrics)?.[1] ?? 0)
}

async function connectRequests(): Promise<number> {
  const metrics = await (await fetch(`${attacked.gateway.adminUrl}/metrics`)).text()
  return Number(/reason="connect_not_supported"\} (\d+)$/m.exec(metrics)?.[1] ?? 0)
}

it('does not insert an error for garbage into a response that has started', async () => {
  const { gateway, upstream } = attacked
  const before = await unparsedRequests()
  const started = createDeferred()
  const finish = createDeferred()
  upstream.answering = (_arrival, response) => {
    response
      .writeHead(200, { 'content-length': 1_000 })
      .write('a'.repeat(500), () => started.resolve(undefined))
    return finish.promise.then(() => response.end('a'.repeat(500)))
  }
  async function* parts(): AsyncGenerator<string> {
    const key = `x-api-key: ${gateway.key('dev')}`
    yield rawRequest(['POST /v1/table/orders/query HTTP/1.1', 'host: g', key, 'content-length: 0'])
    await started.promise
    yield 'garbage\r\n\r\n'
    finish.resolve(undefined)
    await eventually(async () => expect(await unparsedRequests()).toBeGreaterThan(before))
  }
  const text = String(await readRaw(gateway.url, parts()))
  const [, body = ''] = text.split('\r\n\r\n')
  expect(body).toMatch(/^a{1000}HTTP\/1\.1 400 /)
})
