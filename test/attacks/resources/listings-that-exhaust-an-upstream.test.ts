import { beforeEach, expect, it } from 'vitest'
import { serveListings } from '../../gateway/support/listing-upstream.ts'
import { allowEverything } from '../../gateway/support/open-gateway.ts'
import { useSharedGateway } from '../../gateway/support/running-gateway.ts'
import { eventually } from '../../support/eventually.ts'
import { policyOf, ruleFor } from '../support/policy-templates.ts'

// One listing of a caller that sees nothing made 33 calls; 64 at once used nearly all connections to the catalog.
const maxConnections = 32
/** Half of the connections for listings, which are an eighth of all. */
const limit = 2

const tables = Array.from({ length: 40_000 }, (_, index) => `t${String(index).padStart(5, '0')}`)

/** `blind` may list tables, and see none; `mallory` sees one of many. */
const shared = useSharedGateway({
  users: ['blind', 'mallory'],
  policies: [
    allowEverything,
    policyOf(
      ['sales'],
      [
        ruleFor(['blind', 'mallory'], ['ListTables', 'ListNamespaces']),
        ruleFor(['mallory'], ['DescribeTable'], { tables: ['other'] }),
      ],
    ),
  ],
  adjust: (settings) => ({
    ...settings,
    upstreams: settings.upstreams.map((upstream) => ({ ...upstream, maxConnections })),
  }),
})

beforeEach(() => {
  shared.upstream.handler = serveListings({ tables: { sales: tables } })
})

it.each(['/v1/namespace/sales/table/list', '/v1/namespace/sales/list'])(
  'asks no catalog for %s of a caller that can see nothing there',
  async (target) => {
    const response = await shared.gateway.get(target, { as: 'blind' })
    expect(response).toMatchObject({ status: 200 })
    expect(response.json).not.toHaveProperty('page_token')
    expect(shared.upstream.requests).toEqual([])
  },
)

it('reads each page of the catalog once for a listing', async () => {
  await shared.gateway.get('/v1/namespace/sales/table/list', { as: 'mallory' })
  const targets = shared.upstream.requests.map(({ target }) => target)
  expect(targets.length).toBeGreaterThan(1)
  expect(new Set(targets).size).toBe(targets.length)
})

it('gives the listings of one caller half of the connections for listings', async () => {
  const { gateway, upstream } = shared
  const serve = upstream.handler
  upstream.handler = (arrival, ...others) => {
    return arrival.target.includes('sales') ? undefined : serve(arrival, ...others)
  }
  const client = new AbortController()
  const listings = Array.from({ length: 64 }, () =>
    gateway
      .get('/v1/namespace/sales/table/list', { as: 'mallory', signal: client.signal })
      .catch(() => undefined),
  )
  await eventually(() => expect(upstream.requests).toHaveLength(limit))
  for (const target of ['/v1/namespace/$/list', '/v1/table/t/describe'])
    await gateway.post(target, target.endsWith('list') ? {} : { body: {} })
  // Both requests of another caller have passed the 62 listings that wait.
  expect(upstream.requests.slice(limit)).toHaveLength(2)
  client.abort()
  await Promise.all(listings)
})
