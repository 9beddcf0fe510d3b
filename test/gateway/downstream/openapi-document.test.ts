import { expect, it } from 'vitest'
import { runningBackend } from '../../../src/backend/test/support/running-backend.ts'
import { getOpenApiDocument } from '../../../src/catalog-api/openapi/openapi-document.ts'
import { startGatewayAndUpstream } from '../support/running-gateway.ts'

async function fetchDocument(url: string) {
  const response = await fetch(`${url}/openapi.json`)
  expect(response.headers.get('content-type')).toMatch(/^application\/json/)
  return { status: response.status, text: await response.text() }
}

it('serves the interface document publicly, without an upstream request', async () => {
  const { gateway, upstream } = await startGatewayAndUpstream()
  expect(await fetchDocument(gateway.url)).toEqual({ status: 200, text: getOpenApiDocument() })
  expect(upstream.requests).toHaveLength(0)
  expect((await gateway.post('/openapi.json')).status).toBe(405)
})

it('the reference catalog serves it, too, even if it requires a token', async () => {
  const { url } = await runningBackend({ accessToken: 'correct-horse-battery-staple' })
  expect(await fetchDocument(url())).toEqual({ status: 200, text: getOpenApiDocument() })
})

it('HEAD and ETag save the transfer of the document', async () => {
  const target = `${(await startGatewayAndUpstream()).gateway.url}/openapi.json`
  const whole = await fetch(target)
  const etag = whole.headers.get('etag') ?? ''
  expect(etag).toMatch(/^"[\w-]{22}"$/)
  const bytes = Buffer.from(await whole.arrayBuffer())

  const head = await fetch(target, { method: 'HEAD' })
  expect(head.status).toBe(200)
  expect(head.headers.get('content-length')).toBe(String(bytes.length))
  expect(head.headers.get('etag')).toBe(etag)
  expect(await head.text()).toBe('')

  for (const known of [etag, `W/${etag}`, `"other", ${etag}`]) {
    const response = await fetch(target, { headers: { 'if-none-match': known } })
    expect(response.status).toBe(304)
    expect(response.headers.get('etag')).toBe(etag)
    expect(await response.text()).toBe('')
  }
  const changed = await fetch(target, { headers: { 'if-none-match': '"other"' } })
  expect(changed.status).toBe(200)
  expect(bytes.equals(Buffer.from(await changed.arrayBuffer()))).toBe(true)
})
