import { expect, it } from 'vitest'
import { countRefusals } from '../../gateway/support/count-refusals.ts'
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

function frame(body: string, framing: string): readonly [header: string, sent: string] {
  return framing === 'length'
    ? [`content-length: ${body.length}`, body]
    : ['transfer-encoding: chunked', `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`]
}

it.each<[label: string, target: string, keys: string[], ExpectedError]>([
  ['an unknown route', '/v1/nothing', ['dev'], { kind: 'Unsupported', status: 406, says: 'unknown route' }],
  ['an invalid path', '/v1/table/a\\b/describe', ['dev'], { kind: 'InvalidInput', says: 'is not a path' }],
  ['no credentials', '/v1/table/o/drop', [], { kind: 'Unauthenticated', says: 'no credential' }],
  ['two credentials', '/v1/table/o/drop', ['dev', 'writer'], { kind: 'InvalidInput', says: 'repeated' }],
  ['a denial', '/v1/table/production/drop', ['writer'], { kind: 'PermissionDenied', says: 'DropTable' }],
  ['no JSON', '/v1/table/o/describe', ['dev'], { kind: 'InvalidInput', says: 'not valid JSON' }],
])('does not parse the body of a request with %s as a request', async (_label, target, keys, expected) => {
  const { gateway, upstream } = attacked
  const credentials = keys.map((name) => `x-api-key: ${gateway.key(name)}`)
  const lines = ['GET /v1/table/o/tags/list HTTP/1.1', 'host: g', `x-api-key: ${gateway.key('dev')}`]
  for (const framing of ['length', 'chunks']) {
    const [header, sent] = frame(smuggled, framing)
    const [refused, next, ...others] = await sendRaw(
      gateway.url,
      rawRequest([`POST ${target} HTTP/1.1`, 'host: g', ...credentials, header], sent) +
        rawRequest([...lines, 'connection: close']),
    )
    expectError(refused, expected)
    expect(next?.status).toBe(200)
    expect(others).toEqual([])
    expect(upstream.requests.splice(0)).toMatchObject([{ target: '/v1/table/o/tags/list' }])
  }
})

it.each(['length', 'chunks'])(
  'does not parse a body that is too large as a request, by %s',
  async (framing) => {
    const { gateway, upstream } = attacked
    const [header, sent] = frame(smuggled.repeat(20_000), framing)
    const key = `x-api-key: ${gateway.key('dev')}`
    const found = await sendRaw(
      gateway.url,
      rawRequest(['POST /v1/table/o/describe HTTP/1.1', 'host: g', key, header], sent) +
        rawRequest(['GET /v1/table/o/tags/list HTTP/1.1', 'host: g', key, 'connection: close']),
    )
    expect(found.map(({ status }) => status)).toEqual([413, 200])
    expectError(found[0], { kind: 'InvalidInput', status: 413, says: 'larger than' })
    expect(upstream.requests).toMatchObject([{ target: '/v1/table/o/tags/list' }])
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

const update = ['POST /v1/table/orders/update HTTP/1.1', 'host: g']

it.each([
  ['an error for garbage', 'malformed_request', 400, 'garbage\r\n\r\n'],
  [
    'the refusal of a tunnel',
    'connect_not_supported',
    405,
    rawRequest(['CONNECT g:443 HTTP/1.1', 'host: g:443']),
  ],
  [
    'an error for an incomplete request',
    'malformed_request',
    400,
    rawRequest([...update, 'transfer-encoding: chunked'], '2\r\n{}zz'),
  ],
])(
  'does not send %s as the response to the request before it, and closes the connection',
  async (_what, reason, status, bytes) => {
    const { gateway, upstream } = attacked
    const finish = createDeferred()
    upstream.handler = (arrival, response, request) =>
      finish.promise.then(() => respondWith(200, { version: 2 })(arrival, response, request))
    const before = await countRefusals(gateway, reason)
    async function* parts(): AsyncGenerator<string> {
      const key = `x-api-key: ${gateway.key('dev')}`
      yield rawRequest([...update, key, 'content-length: 0'])
      await eventually(() => expect(upstream.requests).toHaveLength(1))
      yield bytes
      finish.resolve(undefined)
      await eventually(async () => expect(await countRefusals(gateway, reason)).toBe(before + 1))
    }
    expect((await sendRaw(gateway.url, parts())).map((response) => response.status)).toEqual([200, status])
  },
)

it('neither parses the rest of a refused chunked body nor sends a second response', async () => {
  const { gateway, upstream } = attacked
  const lines = ['POST /v1/nothing HTTP/1.1', 'host: g', 'transfer-encoding: chunked']
  const countResponses = async (): Promise<number> => {
    const metrics = await gateway.metrics()
    return Number(/status="406",decision="none"\} (\d+)$/m.exec(metrics)?.[1] ?? 0)
  }
  async function* parts(): AsyncGenerator<string> {
    const before = await countResponses()
    yield rawRequest(lines, '2\r\n{}\r\n')
    await eventually(async () => expect(await countResponses()).toBeGreaterThan(before))
    yield `zz\r\n${smuggled}`
  }
  const found = await sendRaw(gateway.url, parts())
  expect(found.map(({ status }) => status)).toEqual([406])
  expect(upstream.requests).toEqual([])
})

it('does not insert an error for garbage into a response that has started', async () => {
  const { gateway, upstream } = attacked
  const before = await countRefusals(gateway, 'malformed_request')
  const started = createDeferred()
  const finish = createDeferred()
  upstream.handler = (_arrival, response) => {
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
    await eventually(async () =>
      expect(await countRefusals(gateway, 'malformed_request')).toBeGreaterThan(before),
    )
  }
  const text = String(await readRaw(gateway.url, parts()))
  const [, body = ''] = text.split('\r\n\r\n')
  expect(body).toMatch(/^a{1000}HTTP\/1\.1 400 /)
})
