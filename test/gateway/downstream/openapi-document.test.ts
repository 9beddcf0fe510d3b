import { expect, it } from 'vitest'
import { runningBackend } from '../../../src/backend/test/support/running-backend.ts'
import { getOpenApiDocument } from '../../../src/catalog-api/openapi/openapi-document.ts'
import { getOperation, operationNames } from '../../../src/catalog-api/operations.ts'
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

  for (const known of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
    const response = await fetch(target, { headers: { 'if-none-match': known } })
    expect(response.status).toBe(304)
    expect(response.headers.get('etag')).toBe(etag)
    expect(await response.text()).toBe('')
  }
  const changed = await fetch(target, { headers: { 'if-none-match': '"other"' } })
  expect(changed.status).toBe(200)
  expect(Buffer.from(await changed.arrayBuffer())).toEqual(bytes)
})

interface Described {
  readonly 'x-facts'?: Readonly<Record<string, readonly string[]>>
  readonly parameters: readonly { readonly name?: string; readonly in?: string }[]
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>
}

const { paths } = JSON.parse(getOpenApiDocument()) as Document

it.each(operationNames)('%s lists its facts with valid locations', (name) => {
  const { path, method, facts } = getOperation(name)
  const described = paths[path]?.[method.toLowerCase()]
  const listed = described?.['x-facts'] ?? {}
  expect(Object.keys(listed)).toEqual(facts.map(([fact]) => fact))
  for (const location of Object.values(listed).flat()) {
    const [, part, stating] = /^(query|header|body|body\.query|properties)\.([a-z_-]+)$/.exec(location) ?? []
    expect(part).toBeDefined()
    if (part !== 'query' && part !== 'header') continue
    expect(described?.parameters).toContainEqual(expect.objectContaining({ name: stating, in: part }))
  }
})

it('lists a fact with all its locations, that of the interface first', () => {
  const created = paths['/v1/table/{id}/create']?.['post']
  expect(created?.['x-facts']).toMatchObject({
    location: ['header.x-catalog-table-location', 'properties.location'],
    properties: ['query.properties', 'header.x-catalog-table-properties'],
  })
  expect(created?.parameters.filter((parameter) => parameter.in === 'header')).toHaveLength(2)
})
