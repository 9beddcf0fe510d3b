import { setTimeout as pause } from 'node:timers/promises'
import fastify, { type FastifyInstance } from 'fastify'
import { request } from 'undici'
import { expect, it } from 'vitest'
import { maxDecisionAgeMs } from '../../../src/gateway/bounds.ts'
import { openRawConnection } from '../support/raw-connection.ts'
import { startApplication } from './embedded-application.ts'

const post = (user: string | undefined, body = '{}', headers: Record<string, string> = {}): RequestInit => ({
  method: 'POST',
  body,
  headers: { 'content-type': 'application/json', ...(user !== undefined && { 'x-user': user }), ...headers },
})

it('serves the catalog under the prefix, and leaves other routes to the application', async () => {
  const app = fastify()
  app.get('/hello', () => 'world')
  const { url, upstream } = await startApplication({ app })
  const described = await fetch(`${url}/catalog/v1/table/a$b/describe`, post('alice'))
  expect(described.status).toBe(200)
  expect(upstream.requests).toMatchObject([{ method: 'POST', target: '/v1/table/a%24b/describe' }])
  expect(await (await fetch(`${url}/hello`)).text()).toBe('world')
  expect((await fetch(`${url}/v1/table/a$b/describe`, post('alice'))).status).toBe(404)
  expect((await fetch(`${url}/catalog/openapi.json`)).status).toBe(200)
})

it('serves HEAD, and ranges of blobs', async () => {
  const { url, upstream } = await startApplication()
  const blob = `${url}/catalog/v1/table/a/blob/image/7/bytes`
  upstream.handler = ({ method }, response) =>
    method === 'HEAD'
      ? response.writeHead(200, { 'content-length': 10 }).end()
      : response.writeHead(206, { 'content-length': 1, 'content-range': 'bytes 0-0/10' }).end('0')
  const described = await fetch(blob, { method: 'HEAD', headers: { 'x-user': 'alice' } })
  expect([described.status, described.headers.get('content-length')]).toEqual([200, '10'])
  const part = await fetch(blob, { headers: { 'x-user': 'alice', range: 'bytes=0-0' } })
  expect([part.status, part.headers.get('content-range'), await part.text()]).toEqual([
    206,
    'bytes 0-0/10',
    '0',
  ])
  expect((await fetch(blob, { method: 'HEAD', headers: { 'x-user': 'bob' } })).status).toBe(403)
  expect(upstream.requests.map(({ method }) => method)).toEqual(['HEAD', 'GET'])
})

it('authenticates by the application, and fails closed', async () => {
  const { url, upstream } = await startApplication()
  const target = `${url}/catalog/v1/table/a/describe`
  const refused = await fetch(target, post(undefined))
  expect(refused.status).toBe(401)
  expect(refused.headers.get('www-authenticate')).toBe('Application realm="catalog-gateway"')
  expect((await fetch(target, post('broken'))).status).toBe(503)
  expect((await fetch(target, post('bob'))).status).toBe(403)
  expect((await fetch(target, post(undefined, '{}', { 'x-api-key': 'alice' }))).status).toBe(401)
  expect(upstream.requests).toEqual([])
})

it('asks the application again for a body that takes long', async () => {
  let isSignedIn = true
  const { url, upstream } = await startApplication({
    authenticate: () => (isSignedIn ? { name: 'alice' } : undefined),
  })
  const client = openRawConnection(url)
  client.write(
    'POST /catalog/v1/table/a/count_rows HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n' +
      'content-length: 2\r\nexpect: 100-continue\r\n\r\n',
  )
  await client.waitFor(/^HTTP\/1.1 100/)
  isSignedIn = false
  await pause(maxDecisionAgeMs)
  client.write('{}')
  await client.waitFor(/HTTP\/1.1 401/)
  expect(upstream.requests).toEqual([])
})

it('shows principal and decision to the hooks of the application', async () => {
  const app = fastify()
  const seen: unknown[] = []
  app.addHook('onResponse', async (request) => {
    seen.push([
      request.catalogPrincipal?.name,
      request.catalogDecision?.isAllowed,
      request.catalogDecision?.rule?.rule,
    ])
  })
  const { url } = await startApplication({ app })
  for (const user of ['alice', 'bob', undefined])
    await fetch(`${url}/catalog/v1/table/a/describe`, post(user))
  expect(seen).toEqual([
    ['app:alice', true, 'read'],
    ['app:bob', false, undefined],
    [undefined, undefined, undefined],
  ])
})

it('shows metrics and readiness', async () => {
  const { app, url } = await startApplication()
  await fetch(`${url}/catalog/v1/table/a/describe`, post('alice'))
  const { text } = await app.catalogGateway.metrics()
  expect(text).toMatch(
    /catalog_gateway_requests_total\{operation="DescribeTable",status="200",decision="allow"\} 1/,
  )
  expect(await app.catalogGateway.findProblems()).toEqual({})
})

it('reads targets raw, whatever the router of the application makes of them', async () => {
  const { url, upstream } = await startApplication()
  const long = 'x'.repeat(300)
  expect((await fetch(`${url}/catalog/v1/table/${long}/describe`, post('alice'))).status).toBe(200)
  expect((await fetch(`${url}/catalog/v1/table/a%24b/describe`, post('alice'))).status).toBe(200)
  expect((await fetch(`${url}/catalog/v1/table/a%2Fdescribe`, post('alice'))).status).toBe(406)
  expect((await fetch(`${url}/CATALOG/v1/table/a/describe`, post('alice'))).status).toBe(404)
  expect(upstream.requests).toHaveLength(2)
})

it('refuses unusable settings and applications, all at once', async () => {
  const listen = { listen: { port: 1 }, limits: { maxJsonBytes: -1 } }
  await expect(startApplication({ settings: listen })).rejects.toThrow(
    /listen: unexpected: the application has its own\nlimits\.maxJsonBytes: /,
  )
  const insensitive = fastify({ routerOptions: { caseSensitive: false } })
  await expect(startApplication({ app: insensitive })).rejects.toThrow('case-sensitive')
  // Fastify types such an application differently.
  const http2: unknown = fastify({ http2: true })
  const overHttp2 = startApplication({ app: http2 as FastifyInstance })
  await expect(overHttp2).rejects.toThrow('catalog-gateway serves HTTP/1.1 only')
})

it('rejects targets that the application rewrites', async () => {
  const app = fastify({ rewriteUrl: ({ url = '' }) => url.replace('/alias/', '/catalog/') })
  const { url, upstream } = await startApplication({ app })
  expect((await fetch(`${url}/alias/v1/table/a/describe`, post('alice'))).status).toBe(500)
  expect(upstream.requests).toEqual([])
})

// Browsers add the cookie by which this application authenticates to the requests of other sites.
it('a page of another site does not act with a cookie', async () => {
  const { url, upstream } = await startApplication({
    authenticate: ({ headers }) => (headers['cookie'] === 'sid=alice' ? { name: 'alice' } : undefined),
    settings: { crossSite: { allowedOrigins: ['https://console.example'] } },
  })
  async function statusOf(headers: Record<string, string>): Promise<number> {
    const { statusCode, body } = await request(`${url}/catalog/v1/table/t/describe`, {
      method: 'POST',
      headers: { cookie: 'sid=alice', ...headers },
      body: '{}',
    })
    await body.dump()
    return statusCode
  }
  const json = { 'content-type': 'application/json' }
  const crossSite = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' }
  const evil = { origin: 'https://evil.example', ...crossSite }
  expect([await statusOf(evil), await statusOf({ ...evil, ...json })]).toEqual([403, 403])
  expect(await statusOf({ origin: url })).toBe(400)
  expect(upstream.requests).toEqual([])
  for (const headers of [
    json,
    { ...json, origin: url, 'sec-fetch-site': 'same-origin' },
    { ...json, origin: 'https://console.example', 'sec-fetch-site': 'cross-site' },
    // A proxy that terminates TLS.
    { ...json, origin: url.replace('http:', 'https:') },
  ])
    expect(await statusOf(headers)).toBe(200)
})
