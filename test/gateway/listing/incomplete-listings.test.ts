import { expect, it, onTestFinished } from 'vitest'
import { policyOf, ruleFor } from '../../attacks/support/policy-templates.ts'
import type { ErrorName } from '../../../src/catalog-api/catalog-error.ts'
import { getKeys } from '../../../src/lib/collections.ts'
import { expectError } from '../support/expect-error.ts'
import { serveListings } from '../support/listing-upstream.ts'
import { allowEverything, type TestedGateway } from '../support/open-gateway.ts'
import { respondWith, type RequestHandler } from '../support/recording-upstream.ts'
import { startGatewayAndUpstream, startGatewayAndUpstreams } from '../support/running-gateway.ts'
import { eventually } from '../../support/eventually.ts'

const header = 'x-catalog-gateway-incomplete'
const catalogs = {
  first: { namespaces: undefined },
  second: { namespaces: [['müde', 'lake'], ['old']] },
  third: { namespaces: [['raw']] },
}
type Name = keyof typeof catalogs
const listed: Readonly<Record<Name, readonly string[]>> = {
  first: ['a', 'd', 'z'],
  second: ['müde$lake$b', 'old$c'],
  third: ['raw$e', 'raw$f'],
}

/** Three catalogs that list their tables. `ann` sees only those of `raw`. */
async function threeCatalogs() {
  const started = await startGatewayAndUpstreams<Name>(catalogs, {
    users: ['ann'],
    policies: [allowEverything, policyOf(['raw'], [ruleFor(['ann'], ['read'])])],
  })
  onTestFinished(() => started.close())
  const serve = (name: Name): void => {
    started.upstreams[name].handler = serveListings({ allTables: listed[name] })
  }
  for (const name of getKeys(catalogs)) serve(name)
  return { ...started, serve }
}

const after = (token = ''): string => `page_token=${encodeURIComponent(token)}`

async function list(gateway: TestedGateway, query: string, as = 'dev') {
  const response = await gateway.get(`/v1/table${query}`, { as })
  expect(response, response.bytes.toString()).toMatchObject({ status: 200 })
  const { tables, page_token: token } = response.json as { tables: string[]; page_token?: string }
  return { tables, token, missing: response.headers[header] }
}

const disconnect: RequestHandler = (_arrival, _response, request) => request.socket.destroy()

it.each<[how: string, RequestHandler]>([
  ['fails', respondWith(500, 'out of memory')],
  ['closes connections', disconnect],
  ['sends no listing', respondWith(200, { tables: 7 })],
  ['lacks the route', respondWith(404, '<h1>Not Found</h1>', { 'content-type': 'text/html' })],
  ['does not support the operation', respondWith(406, { error: 'unsupported', code: 0 })],
])(
  'a listing of all tables lacks those of a catalog that %s, and names its namespaces',
  async (_how, fail) => {
    const { gateway, upstreams } = await threeCatalogs()
    upstreams.second.handler = fail
    expect(await list(gateway, '')).toEqual({
      tables: ['a', 'd', 'raw$e', 'raw$f', 'z'],
      token: undefined,
      missing: 'm%C3%BCde%24lake, old',
    })
    expect(await list(gateway, '?delimiter=.')).toMatchObject({ missing: 'm%C3%BCde.lake, old' })
  },
)

it('does not reveal a failing catalog to a caller that may see nothing there', async () => {
  const { gateway, upstreams } = await threeCatalogs()
  upstreams.second.handler = respondWith(500, '')
  expect(await list(gateway, '', 'ann')).toEqual({
    tables: ['raw$e', 'raw$f'],
    token: undefined,
    missing: undefined,
  })
  for (const upstream of Object.values(upstreams)) upstream.handler = respondWith(500, '')
  const response = await gateway.get('/v1/table', { as: 'ann' })
  expectError(response, { kind: 'Internal', says: 'the upstream failed' })
  expect(response.bytes.toString()).not.toMatch(/first|second|third|lake|old/)
})

it.each([
  ['refuses the caller', 403, 15, 'PermissionDenied'],
  ['is asked too often', 429, 21, 'Throttling'],
] as const)('a catalog that %s fails the listing, because a retry or a permission helps', async (...row) => {
  const [, status, code, kind] = row
  const { gateway, upstreams } = await threeCatalogs()
  upstreams.second.handler = respondWith(status, { error: 'not for you', code })
  expectError(await gateway.get('/v1/table'), { kind, says: 'not for you' })
})

it('lists the other catalogs while the circuit of the root catalog is open', async () => {
  const { gateway, upstreams } = await threeCatalogs()
  upstreams.first.healthStatus = 503
  upstreams.first.handler = respondWith(503, '')
  await eventually(async () =>
    expectError(await gateway.post('/v1/table/t/describe'), {
      kind: 'ServiceUnavailable',
      says: /circuit open/,
    }),
  )
  expect(await list(gateway, '')).toEqual({
    tables: ['müde$lake$b', 'old$c', 'raw$e', 'raw$f'],
    token: undefined,
    missing: '%24',
  })
})

it('if no catalog is available, the error is that of the first that is down', async () => {
  const { gateway, upstreams } = await threeCatalogs()
  upstreams.first.handler = respondWith(406, { error: 'unsupported', code: 0 })
  upstreams.second.handler = disconnect
  upstreams.third.handler = respondWith(500, '')
  const says = 'the catalog could not be reached'
  expectError(await gateway.get('/v1/table'), { kind: 'ServiceUnavailable', status: 502, says })
})

it.each<[how: string, RequestHandler, ErrorName, status: number, says: string]>([
  ['fails', respondWith(500, ''), 'Internal', 500, 'the upstream failed'],
  ['lacks the route', respondWith(404, ''), 'Unsupported', 404, 'ListAllTables is not supported; list'],
])('a single catalog that %s is an error', async (_how, fail, kind, status, says) => {
  const { gateway, upstream } = await startGatewayAndUpstream()
  upstream.handler = fail
  expectError(await gateway.get('/v1/table'), { kind, status, says })
})

it('a later page contains the tables of a catalog that is back, none twice', async () => {
  const { gateway, upstreams, serve } = await threeCatalogs()
  upstreams.second.handler = respondWith(500, '')
  const first = await list(gateway, '?limit=3')
  expect(first).toMatchObject({ tables: ['a', 'd', 'raw$e'], missing: 'm%C3%BCde%24lake, old' })
  serve('second')
  const second = await list(gateway, `?limit=3&${after(first.token)}`)
  expect(second).toMatchObject({ tables: ['müde$lake$b', 'old$c', 'raw$f'], missing: undefined })
  const third = await list(gateway, `?limit=3&${after(second.token)}`)
  expect(third).toEqual({ tables: ['z'], token: undefined, missing: undefined })
  const metrics = await gateway.metrics()
  expect(metrics).toMatch(/^catalog_gateway_incomplete_listings_total\{upstream="second"\} 1$/m)
})

it('a catalog that fails between two pages is continued where it stopped', async () => {
  const { gateway, upstreams, serve } = await threeCatalogs()
  const first = await list(gateway, '?limit=3')
  expect(first).toMatchObject({ tables: ['a', 'd', 'müde$lake$b'], missing: undefined })
  upstreams.second.handler = respondWith(500, '')
  const second = await list(gateway, `?limit=2&${after(first.token)}`)
  expect(second).toMatchObject({ tables: ['raw$e', 'raw$f'], missing: 'm%C3%BCde%24lake, old' })
  serve('second')
  const third = await list(gateway, `?limit=2&${after(second.token)}`)
  expect(third).toEqual({ tables: ['old$c', 'z'], token: undefined, missing: undefined })
})

it('the last page says that a catalog is still missing, instead of a token that leads nowhere', async () => {
  const { gateway, upstreams } = await threeCatalogs()
  upstreams.third.handler = respondWith(500, '')
  const first = await list(gateway, '?limit=3')
  const last = await list(gateway, `?limit=3&${after(first.token)}`)
  expect(last).toEqual({ tables: ['old$c', 'z'], token: undefined, missing: 'raw' })
})

it('a page that only a failing catalog has is an error, and its token stays valid', async () => {
  const { gateway, upstreams, serve } = await threeCatalogs()
  const first = await list(gateway, '?limit=6', 'ann')
  expect(first.tables).toEqual(['raw$e', 'raw$f'])
  const page = await list(gateway, '?limit=1', 'ann')
  const next = `?${after(page.token)}`
  for (const upstream of Object.values(upstreams)) upstream.handler = respondWith(500, '')
  expectError(await gateway.get(`/v1/table${next}`, { as: 'ann' }), { kind: 'Internal', says: 'failed' })
  serve('third')
  expect(await list(gateway, next, 'ann')).toMatchObject({ tables: ['raw$f'], token: undefined })
})

it('a header that would be too long says that much is missing', async () => {
  const many = Array.from({ length: 100 }, (_, index) => [`namespace-of-some-length-${index}`])
  const { gateway, upstreams, close } = await startGatewayAndUpstreams({
    rest: { namespaces: undefined },
    wide: { namespaces: many },
  })
  onTestFinished(close)
  upstreams.rest.handler = serveListings({ allTables: ['a'] })
  upstreams.wide.handler = respondWith(500, '')
  expect(await list(gateway, '')).toEqual({ tables: ['a'], token: undefined, missing: '*' })
})
