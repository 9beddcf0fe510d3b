import { createServer } from 'node:http'
import { expect, it } from 'vitest'
import { runConformance } from './conformance.ts'
import { listenLocally } from '../support/local-server.ts'

/** A catalog that registers and declares tables at any location, such as its root, and deletes dropped ones there. */
async function startCarelessCatalog() {
  const locations = new Map<string, string>()
  const dropped: string[] = []
  const respond = (id: string, action: string, sent: { location?: string }): object | undefined => {
    if (action === 'register' || action === 'create' || action === 'declare') {
      locations.set(id, sent.location ?? `/root/${id}`)
      return { location: locations.get(id), version: 1 }
    }
    const location = locations.get(id)
    if (location === undefined) return undefined
    if (action === 'drop') dropped.push(location)
    if (action === 'drop' || action === 'deregister') locations.delete(id)
    return { location }
  }
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const [, , kind = '', id = '', action = ''] = decodeURIComponent(request.url ?? '').split(/[/?]/)
      const isJson = request.headers['content-type'] === 'application/json'
      const body =
        kind === 'table'
          ? respond(id, action, isJson ? parse(Buffer.concat(chunks)) : {})
          : { properties: {}, namespaces: [], tables: namesIn(id, locations) }
      response.writeHead(body === undefined ? 404 : 200, { 'content-type': 'application/json' })
      response.end(JSON.stringify(body ?? { error: 'no such table', code: 4, instance: '' }))
    })
  })
  return { url: `http://127.0.0.1:${await listenLocally(server)}`, dropped, left: locations }
}

function parse(bytes: Buffer): { location?: string } {
  try {
    return (JSON.parse(String(bytes)) ?? {}) as object
  } catch {
    return {}
  }
}

function namesIn(namespace: string, locations: ReadonlyMap<string, string>): string[] {
  const prefix = `${namespace}$`
  return [...locations.keys()].filter((id) => id.startsWith(prefix)).map((id) => id.slice(prefix.length))
}

it('what a catalog accepted that it should have refused is deregistered, not dropped', async () => {
  const catalog = await startCarelessCatalog()
  const outcomes = await runConformance({ url: catalog.url, credentials: {} })
  const refusals = outcomes.filter(({ title }) => title.startsWith('rejects a location'))
  expect(refusals.map(({ result }) => result)).toEqual(['failed', 'failed'])
  expect(catalog.dropped.length).toBeGreaterThan(10)
  // A name of the tool's own, which a case registers in place of a table that it then drops.
  const own = /^(?:\/root\/conformance_|not_there\.lance$)/
  expect(catalog.dropped.filter((location) => !own.test(location))).toEqual([])
  expect([...catalog.left.keys()].filter((id) => id.startsWith('conformance_'))).toEqual([])
})
