import { expect, it } from 'vitest'
import { expectError } from '../support/expect-error.ts'
import { startGatewayAndUpstream, useSharedGateway } from '../support/running-gateway.ts'

const shared = useSharedGateway()

const get = (target: string) => shared.gateway.get(target, { as: null })

/** The files to which the page refers. */
async function listFiles(): Promise<readonly string[]> {
  const { bytes } = await get('/docs')
  return [...bytes.toString().matchAll(/(?:href|src)="(\/docs\/[^"]+)"/g)].map(([, path = '']) => path)
}

it('serves a page and its files publicly, without an upstream request', async () => {
  const files = await listFiles()
  expect(files.length).toBeGreaterThan(4)
  for (const file of ['/docs', '/docs/', ...files]) {
    const { status, headers, bytes } = await get(file)
    expect(status).toBe(200)
    expect(bytes.length).toBe(Number(headers['content-length']))
    expect(headers).toMatchObject({ 'cache-control': 'no-cache', 'x-content-type-options': 'nosniff' })
    expect(headers['etag']).toMatch(/^"[\w-]{22}"$/)
    const policy = String(headers['content-security-policy'])
    expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self'")
    expect(policy).toContain("connect-src 'self'")
    expect(policy).toContain("frame-ancestors 'none'")
    expect(policy).not.toContain('unsafe')
  }
  expect(shared.upstream.requests).toEqual([])
})

const absent = `
  /docs/static /docs/static/ /docs/static/index.html /docs/static/../static/docs.js /docs/static/%64ocs.js
  /docs/static/..%2f..%2fpackage.json /docs//static/docs.js /docs/yaml /docs/?url=https://other.example/
  /Docs /docs2 /openapi.json/docs`
it.each(absent.trim().split(/\s+/))('has no %s', async (target) => {
  expectError(await get(target), { kind: 'Unsupported', status: 404, says: /unknown route|has no file/ })
})

it('is read-only', async () => {
  const refused = await shared.gateway.post('/docs')
  expectError(refused, { kind: 'Unsupported', status: 405, says: 'use GET' })
})

it('is below the base path only', async () => {
  const { gateway } = await startGatewayAndUpstream({ settings: { listen: { basePath: '/lake' } } })
  const html = String((await gateway.get('/lake/docs')).bytes)
  expect(html).toContain('src="/lake/docs/static/')
  expect(html).toContain('href="/lake/openapi.json"')
  expect((await gateway.get('/lake/docs/static/docs.js')).status).toBe(200)
  expect((await gateway.get('/docs')).status).toBe(404)
})
