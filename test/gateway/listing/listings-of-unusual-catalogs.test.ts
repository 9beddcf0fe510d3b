import { expect, it } from 'vitest'
import { policyOf, ruleFor } from '../../attacks/support/policy-templates.ts'
import { expectError } from '../support/expect-error.ts'
import { serveListings } from '../support/listing-upstream.ts'
import { allowEverything } from '../support/open-gateway.ts'
import { listNames, readPage, readPages } from '../support/read-pages.ts'
import { respondWith } from '../support/recording-upstream.ts'
import { useSharedGateway } from '../support/running-gateway.ts'
import { createDeferred } from '../support/waiting.ts'
import { eventually } from '../../support/eventually.ts'

/** `ann` may see the tables in the root whose names begin with `s`. */
const shared = useSharedGateway({
  users: ['ann'],
  policies: [
    allowEverything,
    policyOf([], [ruleFor(['ann'], ['ListTables']), ruleFor(['ann'], ['DescribeTable'], { tables: ['s*'] })]),
  ],
})
const target = '/v1/namespace/$/table/list'
const hidden = (count: number): string[] => Array.from({ length: count }, (_, index) => `h${index}`)

it.each<[what: string, names: readonly string[]]>([
  ['in no order', ['s3', 'h1', 's1', 'h2', 's9', 's2', 's5', 's4']],
  ['some names twice', ['s3', 's3', 'h1', 's1', 's3', 'h1', 's9', 's2', 's1', 's5', 's5', 's4', 's4']],
  ['with names that cannot be asked for', ['s3', 's/1', 's1', '', '..', 's$x', "s'", 's9', 's2', 's5', 's4']],
])('lists a catalog completely that lists %s, in pages of any size', async (_what, names) => {
  for (const ignoresLimit of [undefined, true] as const) {
    shared.upstream.handler = serveListings({
      tables: { '': names },
      ...(ignoresLimit && { ignoresLimit }),
    })
    for (const limit of [1, 2, 4, 100]) {
      const pages = await readPages(shared.gateway, target, { as: 'ann', limit })
      expect(listNames(pages)).toEqual(['s3', 's1', 's9', 's2', 's5', 's4'])
      expect(pages).toHaveLength(Math.ceil(6 / limit))
    }
  }
})

it('counts names that cannot be asked for, once for each listing of them', async () => {
  const count = async (): Promise<number> => {
    const metrics = await shared.gateway.metrics()
    return Number(/_listed_names_left_out_total\{upstream="catalog"\} (\d+)$/m.exec(metrics)?.[1] ?? 0)
  }
  const before = await count()
  shared.upstream.handler = serveListings({
    tables: { '': ["o'brien", '100%', 's#1', 'really?', 'a"b', 's$x', 's1'] },
    allTables: ["n$o'brien", 's1'],
  })
  expect((await readPage(shared.gateway, target, 'dev')).names).toEqual(['s1'])
  expect(await count()).toBe(before + 6)
  expect((await readPage(shared.gateway, '/v1/table', 'dev')).names).toEqual(['s1'])
  expect(await count()).toBe(before + 7)
})

it('lists names that differ by their normal form alone as two names', async () => {
  shared.upstream.handler = serveListings({ tables: { '': ['caf\u00e9', 'cafe\u0301'] } })
  expect((await readPage(shared.gateway, target, 'dev')).names).toEqual(['caf\u00e9', 'cafe\u0301'])
})

it('takes null for no further page, as Gravitino sends it', async () => {
  shared.upstream.handler = respondWith(200, { tables: ['s1'], page_token: null })
  expect(await readPage(shared.gateway, target, 'ann')).toEqual({ names: ['s1'], token: undefined })
})

it('misses no name if another one is dropped between two pages', async () => {
  const names = ['s1', 's2', 's3', 's4']
  shared.upstream.handler = serveListings({ tables: { '': names } })
  const { names: first, token } = await readPage(shared.gateway, `${target}?limit=2`, 'ann')
  shared.upstream.handler = serveListings({ tables: { '': ['s0', 's1', 's3', 's4'] } })
  const next = `${target}?limit=2&page_token=${encodeURIComponent(token ?? '')}`
  expect([...first, ...(await readPage(shared.gateway, next, 'ann')).names]).toEqual(names)
})

it.each<[what: string, body: object | string]>([
  ['no JSON', 'listing'],
  ['no list', {}],
  ['a list of others', { tables: ['s1', 2] }],
  ['a token that is no text', { tables: [], page_token: 7 }],
])('a response with %s is an error of the catalog', async (_what, body) => {
  shared.upstream.handler = respondWith(200, body)
  expectError(await shared.gateway.get(target), {
    kind: 'ServiceUnavailable',
    status: 502,
    says: /invalid response of the upstream|the response of the catalog/,
  })
})

it.each([
  ['the same token', () => ({ tables: ['h1'], page_token: 'again' })],
  [
    'a token that fits into no request',
    () => ({ tables: ['s1', 's2', 's3'], page_token: 'x'.repeat(9_000) }),
  ],
])('a listing that continues with %s is an error of the catalog', async (_what, body) => {
  shared.upstream.handler = respondWith(200, body())
  const first = `${target}?limit=3`
  const response = await shared.gateway.get(first, { as: 'ann' })
  expectError(response, {
    kind: 'ServiceUnavailable',
    status: 502,
    says: 'invalid response of the upstream: the listing repeats a page',
  })
})

it('ends a page of an endless invisible listing after a maximum of reads, and continues from there', async () => {
  let page = 0
  shared.upstream.handler = (arrival, response, request) =>
    respondWith(200, { tables: hidden(10), page_token: `page-${(page += 1)}` })(arrival, response, request)
  const first = await readPage(shared.gateway, `${target}?limit=5`, 'ann')
  expect(first.names).toEqual([])
  expect(shared.upstream.requests).toHaveLength(33)
  shared.upstream.handler = serveListings({ tables: { '': [] } })
  await readPage(shared.gateway, `${target}?page_token=${encodeURIComponent(first.token ?? '')}`, 'ann')
  expect(shared.upstream.requests.at(-1)?.target).toContain('page_token=page-33')
})

it('does not reveal that invisible names follow', async () => {
  shared.upstream.handler = serveListings({ tables: { '': ['s1', 's2', ...hidden(5_000)] } })
  const page = await readPage(shared.gateway, `${target}?limit=2`, 'ann')
  expect(page).toEqual({ names: ['s1', 's2'], token: undefined })
})

it('a page contains at most 10,000 names', async () => {
  const names = Array.from({ length: 10_001 }, (_, index) => `s${String(index).padStart(5, '0')}`)
  shared.upstream.handler = serveListings({ tables: { '': names } })
  const pages = await readPages(shared.gateway, target, { as: 'ann' })
  expect(pages.map(({ names }) => names.length)).toEqual([10_000, 1])
  expect(listNames(pages)).toEqual(names)
})

it('refuses a limit of 0: clients would ask for the next page for ever', async () => {
  shared.upstream.handler = serveListings({ tables: { '': ['s1'] } })
  for (const each of [`${target}?limit=0`, '/v1/table?limit=0', '/v1/namespace/$/list?limit=0'])
    expectError(await shared.gateway.get(each, { as: 'ann' }), {
      kind: 'InvalidInput',
      says: 'expected at least 1',
    })
})

it('starts after a name instead of a token, without sending it to the catalog', async () => {
  shared.upstream.handler = serveListings({
    tables: { '': ['s1', 's2', 's3'] },
    allTables: ['a$b', 's1', 's2'],
  })
  const after = await readPage(shared.gateway, `${target}?limit=1&page_token=s1`, 'dev')
  expect(after.names).toEqual(['s2'])
  expect((await readPage(shared.gateway, '/v1/table?page_token=a$b', 'dev')).names).toEqual(['s1', 's2'])
  expect(shared.upstream.requests.map(({ target }) => target).join(' ')).not.toContain('page_token')
})

it('stops reading if the client disconnects', async () => {
  const abandoned = createDeferred()
  shared.upstream.handler = (_arrival, response) => {
    response.once('close', () => abandoned.resolve(undefined))
  }
  const leave = new AbortController()
  const response = shared.gateway.get(target, { signal: leave.signal })
  await eventually(() => expect(shared.upstream.requests).toHaveLength(1))
  leave.abort()
  await expect(response).rejects.toThrow()
  await abandoned.promise
  expect(shared.upstream.requests).toHaveLength(1)
})
