import { beforeEach, expect, it } from 'vitest'
import { policyOf, ruleFor } from '../../attacks/support/policy-templates.ts'
import { getKeys } from '../../../src/lib/collections.ts'
import { expectError } from '../support/expect-error.ts'
import { serveListings, type ListedCatalog } from '../support/listing-upstream.ts'
import { allowEverything } from '../support/open-gateway.ts'
import { listNames, readPages } from '../support/read-pages.ts'
import { useSharedGatewayAndUpstreams } from '../support/running-gateway.ts'

/**
 * Three catalogs. `rest` holds no `prod`, and a namespace `archive` and tables that are unreachable because their ids
 * belong to another upstream; one table of `lake` belongs to `raw`.
 */
const catalogs = {
  rest: {
    namespaces: { '': ['archive', 'beta', 'zoo'], beta: ['x'] },
    tables: { '': ['archive', 't', '\u{ff5e}', '\u{1f600}'] },
    allTables: ['archive$hidden', 'beta$b1', 'prod$lake$hidden', 't', 'zoo$z1', '\u{ff5e}', '\u{1f600}'],
  },
  lake: {
    namespaces: { prod$lake: ['inner', 'raw'], archive: ['old'] },
    tables: { prod$lake: ['orders'] },
    allTables: ['archive$a1', 'prod$lake$orders', 'prod$lake$raw$hidden', 'stray'],
  },
  raw: { namespaces: {}, tables: {}, allTables: ['prod$lake$raw$events', 'prod$lake$raw$facts'] },
} as const satisfies Record<string, ListedCatalog>
const shared = useSharedGatewayAndUpstreams(
  {
    rest: { namespaces: undefined },
    lake: { namespaces: [['prod', 'lake'], ['archive']] },
    raw: { namespaces: [['prod', 'lake', 'raw']] },
  },
  {
    users: ['ann', 'bob'],
    policies: [
      allowEverything,
      policyOf(['prod', 'lake', 'raw'], [ruleFor(['ann'], ['read'])]),
      policyOf(['archive'], [ruleFor(['bob'], ['read'])]),
    ],
  },
)
beforeEach(() => {
  for (const name of getKeys(catalogs)) shared.upstreams[name].handler = serveListings(catalogs[name])
})

const allTables = [
  'archive$a1',
  'beta$b1',
  'prod$lake$orders',
  'prod$lake$raw$events',
  'prod$lake$raw$facts',
  't',
  'zoo$z1',
  '\u{ff5e}',
  '\u{1f600}',
]

it.each<[as: string, target: string, expected: readonly string[]]>([
  ['dev', '/v1/namespace/$/list', ['archive', 'beta', 'prod', 'zoo']],
  ['dev', '/v1/namespace/prod/list', ['lake']],
  ['dev', '/v1/namespace/prod/table/list', []],
  ['dev', '/v1/namespace/prod$lake/list', ['inner', 'raw']],
  ['dev', '/v1/namespace/archive/list', ['old']],
  ['dev', '/v1/namespace/$/table/list', ['t', '\u{ff5e}', '\u{1f600}']],
  ['dev', '/v1/table', allTables],
  ['ann', '/v1/namespace/$/list', ['prod']],
  ['ann', '/v1/namespace/prod/list', ['lake']],
  ['ann', '/v1/namespace/prod$lake/list', ['raw']],
  ['ann', '/v1/namespace/prod$lake/table/list', []],
  ['ann', '/v1/table', ['prod$lake$raw$events', 'prod$lake$raw$facts']],
])('%s lists at %s the objects of all upstreams', async (as, target, expected) => {
  for (const limit of [1, 2, 3, 100, undefined]) {
    const pages = await readPages(shared.gateway, target, { as, ...(limit !== undefined && { limit }) })
    expect(listNames(pages)).toEqual(expected)
    expect(pages).toHaveLength(Math.max(1, Math.ceil(expected.length / (limit ?? 1_000))))
  }
})

it('reads only catalogs in which the caller can see something', async () => {
  await shared.gateway.get('/v1/table', { as: 'bob' })
  const read = Object.entries(shared.upstreams).filter(([, { requests }]) =>
    requests.some(({ target }) => target.includes('/table')),
  )
  // The namespaces of `rest` include all others.
  expect(read.map(([name]) => name)).toEqual(['rest', 'lake'])
})

it('joins ids by the delimiter of the request, and leaves out names that contain it', async () => {
  const pages = await readPages(shared.gateway, '/v1/table?delimiter=%3A%3A', { as: 'ann', limit: 1 })
  expect(listNames(pages)).toEqual(['prod::lake::raw::events', 'prod::lake::raw::facts'])
  expect(listNames(await readPages(shared.gateway, '/v1/table?delimiter=k', { as: 'ann' }))).toEqual([])
})

it('a missing namespace is an error', async () => {
  expectError(await shared.gateway.get('/v1/namespace/nowhere/list'), {
    kind: 'NamespaceNotFound',
    says: /./,
  })
})
