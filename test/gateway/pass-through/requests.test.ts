import { Readable } from 'node:stream'
import { expect, it } from 'vitest'
import { expectError } from '../support/expect-error.ts'
import { startGatewayWithRoute } from '../support/pass-through-gateway.ts'

it('a request goes to the path of the upstream, with its query, and its response comes back', async () => {
  const { port, application, catalog } = await startGatewayWithRoute()
  application.handler = (_, response) =>
    response.writeHead(203, { 'content-type': 'text/html', 'set-cookie': ['a=1', 'b=2'] }).end('<p>')
  const response = await port.get('/ui/assets/a%20b.js?x=1&x=%2F..', { headers: { cookie: 'c=1' } })
  expect(response).toMatchObject({ status: 203, headers: { 'content-type': 'text/html' } })
  expect(String(response.bytes)).toBe('<p>')
  expect(response.headers['set-cookie']).toEqual(['a=1', 'b=2'])
  expect(application.requests).toMatchObject([
    { method: 'GET', target: '/console/assets/a%20b.js?x=1&x=%2F..' },
  ])
  expect(application.requests[0]?.rawHeaders).toEqual(expect.arrayContaining(['cookie', 'c=1']))
  expect(catalog.requests).toEqual([])
})

it.for([
  ['/ui', '/console'],
  ['/ui/', '/console/'],
  ['/ui?x', '/console?x'],
])('%s becomes %s', async ([target = '', expected]) => {
  const { port, application } = await startGatewayWithRoute()
  await port.get(target)
  expect(application.requests.map((each) => each.target)).toEqual([expected])
})

it('a credential of the gateway is not forwarded; the request id is', async () => {
  const { port, application } = await startGatewayWithRoute({ route: { methods: ['GET'] } })
  await port.get('/ui', { headers: { 'x-request-id': 'r1', 'x-forwarded-for': '1.2.3.4' } })
  const names = application.requests[0]?.rawHeaders.filter((_, index) => index % 2 === 0)
  expect(names?.map((name) => name.toLowerCase()).toSorted()).toEqual(['connection', 'host', 'x-request-id'])
  expect(application.requests[0]?.rawHeaders).toContain('r1')
})

it('a path beside the prefix is unknown', async () => {
  const { port, application } = await startGatewayWithRoute()
  for (const target of ['/uix', '/UI', '/u%69/a', '/', '/v1/table', '/openapi.json', '/docs'])
    expectError(await port.get(target), { kind: 'Unsupported', status: 404, says: 'unknown route' })
  expect(application.requests).toEqual([])
})

it('a redirect is returned, not followed; within the upstream, it becomes one below the prefix', async () => {
  const { port, application } = await startGatewayWithRoute()
  const locations = [
    ['/console/login?next=1', '/ui/login?next=1'],
    ['login', '/ui/login'],
    [`${application.url}/console`, '/ui'],
    ['/other', '/other'],
    ['https://idp.example/login', 'https://idp.example/login'],
  ]
  for (const [location = '', expected] of locations) {
    application.handler = (_, response) => response.writeHead(302, { location }).end()
    expect(await port.get('/ui/start')).toMatchObject({ status: 302, headers: { location: expected } })
  }
  expect(application.requests).toHaveLength(locations.length)
})

it('a 503 of the upstream is returned, not retried', async () => {
  const { port, application } = await startGatewayWithRoute()
  application.handler = (_, response) => response.writeHead(503, { 'retry-after': '0' }).end('busy')
  expect(await port.get('/ui')).toMatchObject({ status: 503, bytes: Buffer.from('busy') })
  expect(application.requests).toHaveLength(1)
})

it('headers about the response are returned, others and those about the connection are not', async () => {
  const { port, application } = await startGatewayWithRoute()
  const received = {
    connection: 'pragma',
    pragma: 'no-cache',
    'x-request-id': 'theirs',
    'content-security-policy': "default-src 'self'",
    etag: '"1"',
    'x-internal': '1',
    server: 'internal/1.0',
  }
  application.handler = (_, response) => response.writeHead(200, received).end()
  const { headers } = await port.get('/ui', { headers: { 'x-request-id': 'ours' } })
  expect(headers).toMatchObject({
    'x-request-id': 'ours',
    'content-security-policy': "default-src 'self'",
    etag: '"1"',
  })
  for (const name of ['pragma', 'x-internal', 'server']) expect(headers).not.toHaveProperty(name)
})

it('an upstream that cannot be reached is 502 in the shape of the interface', async () => {
  const { port, application } = await startGatewayWithRoute()
  await application.close()
  expectError(await port.get('/ui'), { kind: 'ServiceUnavailable', status: 502, says: 'upstream' })
})

it('a path of thousands of characters passes', async () => {
  const { port, application } = await startGatewayWithRoute()
  const name = 'a'.repeat(4_000)
  expect((await port.get(`/ui/${name}`)).status).toBe(200)
  expect(application.requests[0]?.target).toBe(`/console/${name}`)
})

it('a body passes with any content-type, and without one; a malformed one is 400', async () => {
  const { port, application } = await startGatewayWithRoute({ route: { methods: ['POST'] } })
  for (const type of ['application/x-www-form-urlencoded', 'application/json', 'a/b; c="d"', undefined]) {
    const headers = type === undefined ? {} : { 'content-type': type }
    expect((await port.post('/ui/token', { headers, body: 'grant_type=x' })).status).toBe(200)
  }
  for (const { body } of application.requests) expect(String(await body)).toBe('grant_type=x')
  expect(application.requests).toHaveLength(4)
  const malformed = await port.post('/ui/token', { headers: { 'content-type': 'form' }, body: 'x' })
  expectError(malformed, { kind: 'InvalidInput', says: 'cannot be forwarded' })
})

it('an upload of 64 MiB and its response pass unchanged', async () => {
  const { port, application } = await startGatewayWithRoute({ route: { methods: ['POST'] } })
  application.handler = (_, response, request) => void request.pipe(response.writeHead(200))
  const chunk = Buffer.alloc(1024 * 1024, 'x')
  const { body } = await port.open('POST', '/ui', { body: Readable.from(Array(64).fill(chunk)) })
  let received = 0
  for await (const part of body as AsyncIterable<Buffer>) received += part.length
  expect(received).toBe(64 * chunk.length)
})
