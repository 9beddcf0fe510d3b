import { upstreamSchema } from '../src/config/upstream/upstream-settings.ts'
import { directOpener } from '../test/support/direct-opener.ts'
import { randomBytes } from 'node:crypto'
import { readListingPage, type ListingSource } from '../src/gateway/listing/listing-page.ts'
import { createPageTokens } from '../src/gateway/sealed-tokens.ts'
import { createListingSources } from '../src/gateway/listing/listing-sources.ts'
import { createUpstreams } from '../src/gateway/upstream/upstreams.ts'
import { parseTarget } from '../src/catalog-api/request-target.ts'
import {
  createAuthorizationRequest,
  createCaller,
  compilePolicySet,
  type WrittenPolicy,
} from '../test/policy/policy-builder.ts'
import { quantile, rounded } from './statistics.ts'
import { runInSlices } from '../src/lib/async/run-in-slices.ts'
import { fixed } from '../src/lib/fs/follow-files.ts'

/*
 * Measures what the gateway adds to an upstream page of 1,000 names: converting names to ids, evaluating the policies
 * for each, formatting the page and sealing its token. Prints medians, and those of parsing and formatting the page
 * alone, which an unfiltered listing also needs for its token to be sealed.
 */

const rounds = 300
const principal = createCaller('user-7', 'group-1', 'group-2', 'group-3')
const { request } = createAuthorizationRequest(principal, 'ListTables', 'namespace', [])
const tokens = createPageTokens(randomBytes(32))

const some = (count: number): readonly WrittenPolicy[] => [
  {
    name: 'root',
    namespace: [],
    rules: [
      { id: 'deny', effect: 'deny', subjects: { any: true }, operations: ['read'], tables: ['secret*'] },
    ],
  },
  ...Array.from({ length: count }, (_, index) => ({
    name: `p${index}`,
    namespace: ['team', `n${index % 1000}`, ...(index < 1000 ? [] : [`m${index}`])],
    rules: [
      {
        id: 'r',
        effect: 'allow' as const,
        subjects: { groups: [`group-${index % 50}`, `group-${index % 7}`] },
        operations: ['read'],
        ...(index % 2 === 0 && { tables: ['name-1*', 'name-2*'] }),
        ...(index % 5 === 0 && { when: 'client.address.inCidr("192.0.2.0/24")' }),
      },
    ],
  })),
]

const names = Array.from({ length: 1000 }, (_, index) => `n${index}`)
const text = JSON.stringify({ tables: names, namespaces: names })
const results: Record<string, string | number>[] = []
const upstreams = createUpstreams([
  {
    ...upstreamSchema.parse({
      url: 'http://127.0.0.1:9',
      maxConnections: 1,
      timeouts: { totalTimeoutMs: 1 },
    }),
    credentials: fixed([]),
    opener: directOpener,
    bounds: { healthCheckIntervalMs: 1_000_000, probeIntervalMs: 1_000_000 },
  },
])

for (const count of [10, 1_000, 10_000]) {
  const policies = compilePolicySet(some(count))
  for (const [what, target] of [
    ['tables of one namespace', '/v1/namespace/team$n5/table/list'],
    ['namespaces, each with policies', '/v1/namespace/team/list'],
  ] as const) {
    const route = parseTarget('GET', target)
    const kind = route.operation.lists === 'namespaces' ? 'namespace' : 'table'
    const [source] = createListingSources(route, upstreams, {
      rootTablesOnly: false,
      canSeeBeneath: () => true,
      read: () => Promise.resolve(JSON.parse(text)),
      onNameLeftOut: () => undefined,
    })
    // As for a new request: nothing is cached from the previous one.
    const poll = (from: ListingSource | undefined) => {
      const view = policies.visibilityFor({ principal, request })
      return page(from, (id) => view(kind, id))
    }
    const first = await timed(() => poll(source))
    const filtered: number[] = []
    const passed: number[] = []
    for (let round = 0; round < rounds; round += 1) {
      filtered.push(await timed(() => poll(source)))
      passed.push(await timed(() => Promise.resolve(Buffer.from(JSON.stringify(JSON.parse(text))))))
    }
    results.push({
      policies: count,
      what,
      'first page ms': rounded(first),
      'median ms': rounded(quantile(filtered, 0.5)),
      'parsed and written alone ms': rounded(quantile(passed, 0.5)),
    })
  }
}
console.table(results)
upstreams.close()

async function page(source: ListingSource | undefined, isVisible: (id: readonly string[]) => boolean) {
  const sources = source === undefined ? [] : [source]
  const { ids, position } = await readListingPage(sources, {
    limit: 1000,
    position: {},
    isVisible,
    runInSlices,
  })
  return Buffer.from(
    JSON.stringify({
      tables: ids.map((id) => id.at(-1)),
      page_token: tokens.seal(position ?? {}, 'scope'),
    }),
  )
}

async function timed(step: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now()
  await step()
  return performance.now() - startedAt
}
