import {
  Field,
  FixedSizeList,
  Float32,
  Int64,
  RecordBatchStreamWriter,
  Table,
  Utf8,
  vectorFromArray,
} from 'apache-arrow'
import { expect, it, onTestFinished } from 'vitest'
import { runningBackend } from '../../src/backend/test/support/running-backend.ts'
import { startRecordingUpstream, type RequestHandler } from '../gateway/support/recording-upstream.ts'
import type { WrittenPolicy } from '../policy/policy-builder.ts'
import { probeUpstream } from './probe-upstream.ts'

type WrittenColumns = NonNullable<WrittenPolicy['restrict']>[number]['columns']

const declared = { id: 'number', name: 'text', v: 'other' }

/** Analysts see these columns and rows of the tables in `crm`. */
function restrict(columns: WrittenColumns = declared, tables: readonly string[] = ['people']): WrittenPolicy {
  const subjects = { groups: ['analysts'] }
  const rows = "region = 'EU'"
  return {
    name: 'crm',
    namespace: ['crm'],
    restrict: [{ id: 'eu', subjects, tables, columns, rows }],
    rules: [],
  }
}

const probe = (url: string, policy = restrict()) => probeUpstream({ url }, { policies: [policy] })

const vectors = new FixedSizeList(2, new Field('item', new Float32()))

/** A bundled catalog with a table of as many rows. */
async function startCatalog(rows = 3) {
  const catalog = await runningBackend()
  const numbers = Array.from({ length: rows }, (_, index) => index)
  const table = new Table({
    id: vectorFromArray(
      numbers.map((each) => BigInt(1_700_000_000 + each)),
      new Int64(),
    ),
    name: vectorFromArray(
      numbers.map((each) => `user-${each}`),
      new Utf8(),
    ),
    region: vectorFromArray(
      numbers.map((each) => (each === 0 ? 'EU' : 'US')),
      new Utf8(),
    ),
    v: vectorFromArray(
      numbers.map((each) => [each, each]),
      vectors,
    ),
  })
  await catalog.post('/v1/namespace/crm/create', {})
  const created = await catalog.post(
    '/v1/table/crm$people/create',
    Buffer.from(RecordBatchStreamWriter.writeAll(table).toUint8Array(true)),
  )
  expect(created.status).toBe(200)
  return catalog
}

/** A server in front of a catalog that changes the members of queries and counts. */
async function startCareless(catalogUrl: string, change: (members: Record<string, unknown>) => void) {
  const forward: RequestHandler = async ({ method, target, body }, response) => {
    const sent = await body
    const members = sent.length === 0 ? undefined : (JSON.parse(sent.toString()) as Record<string, unknown>)
    if (members !== undefined) change(members)
    const found = await fetch(catalogUrl + target, {
      method,
      headers: { 'content-type': 'application/json' },
      ...(members && { body: JSON.stringify(members) }),
    })
    response.writeHead(found.status, { 'content-type': found.headers.get('content-type') ?? '' })
    response.end(Buffer.from(await found.arrayBuffer()))
  }
  const server = await startRecordingUpstream()
  onTestFinished(() => server.close())
  server.answering = forward
  return server
}

it('says that the bundled catalog respects conditions on rows, and only reads', async () => {
  const catalog = await startCatalog()
  const server = await startCareless(catalog.url(), () => undefined)
  const { status, messages } = await probe(server.url)
  expect(messages).toMatch(
    /restricted table crm\/people of the upstream catalog:\n {2}no row is returned for a condition that no row fulfils; /,
  )
  expect(status).toBe(0)
  for (const { method, target } of server.requests)
    expect(`${method} ${target}`).toMatch(
      /^GET |^POST \/v1\/table\/crm%24people\/(describe|count_rows|query)$/,
    )
})

it.each<[string, (members: Record<string, unknown>) => void, RegExp]>([
  [
    'ignores filters of queries',
    (members) => delete members['filter'],
    /queries ignore the filter: with `false`/,
  ],
  [
    'ignores predicates of counts',
    (members) => delete members['predicate'],
    /counts ignore the predicate.* 3;/,
  ],
  [
    'ignores filters of vector searches',
    (members) => members['vector_column'] !== undefined && delete members['filter'],
    /vector searches ignore the filter: with `false`, a search returns rows/,
  ],
  [
    'returns all columns',
    (members) => delete members['columns'],
    /the response has a column that was not asked for: the gateway refuses it with 502/,
  ],
])('fails for an upstream that %s', async (_what, change, problem) => {
  const catalog = await startCatalog()
  const { url } = await startCareless(catalog.url(), change)
  const { status, messages, output } = await probe(url)
  expect(messages).toMatch(problem)
  expect(messages).toContain('restricted table crm/people of the upstream catalog:\n')
  expect({ status, output }).toEqual({ status: 1, output: '' })
})

it('fails for declared columns that the table has with another type, or not at all', async () => {
  const { url } = await startCatalog()
  const columns = { id: 'text', name: 'date', v: 'numbers', ssn: 'text' }
  const { status, messages } = await probe(url(), restrict(columns, ['peop*']))
  expect(status).toBe(1)
  expect(messages).toContain(
    'restricted table crm/people of the upstream catalog:\n' +
      '  the restriction crm/eu declares the column `id` as text, but its type in the table is int64\n' +
      '  the restriction crm/eu declares the column `name` as date, but its type in the table is utf8\n' +
      '  the restriction crm/eu declares the column `ssn`, which the table does not have\n',
  )
})

it('fails for a condition on rows with a column that the table does not have', async () => {
  const { url } = await startCatalog()
  const policy = restrict()
  const [written] = policy.restrict ?? []
  const misspelt = written && { ...written, rows: "regoin = 'EU'" }
  const { status, messages } = await probe(url(), { ...policy, restrict: misspelt ? [misspelt] : [] })
  expect(status).toBe(1)
  expect(messages).toContain(
    'the restriction crm/eu has `rows` on the column `regoin`, which the table does not have: every read is refused; did you mean "region"?',
  )
})

it('does not say that queries respect a condition if it could not try one', async () => {
  const { url } = await startCatalog()
  const { status, messages } = await probe(url(), restrict({ ssn: 'text' }))
  expect(status).toBe(1)
  expect(messages).toContain('it has none of the declared columns: queries were not tried')
  expect(messages).not.toContain('no row is returned')
})

it('compares the columns that a restriction selects by tags', async () => {
  const { url } = await startCatalog()
  const policy = restrict({ without: ['pii'] })
  const columns = { id: 'text', name: { type: 'date', tags: ['pii'] } } as const
  const { status, messages } = await probe(url(), { ...policy, tags: { tables: { people: { columns } } } })
  expect(status).toBe(1)
  expect(messages).toContain('the restriction crm/eu declares the column `id` as text, but its type in')
  expect(messages).not.toContain('`name`')
})

it.each<[string, number, WrittenPolicy, string]>([
  ['has no rows', 0, restrict(), 'it has no rows: whether conditions on rows are respected is unknown'],
  [
    'does not exist',
    1,
    restrict(declared, ['orders']),
    'it does not exist yet, or the gateway may not see it',
  ],
])('says what was not tried for a table that %s', async (_what, rows, policy, note) => {
  const { url } = await startCatalog(rows)
  const { status, messages } = await probe(url(), policy)
  expect(messages).toContain(note)
  expect(status).toBe(0)
})

it('tries the tables of every page of a listing', async () => {
  const catalog = await startCatalog()
  const server = await startCareless(catalog.url(), () => undefined)
  const { answering } = server
  server.answering = (received, response, request) => {
    const { pathname, searchParams } = new URL(received.target, server.url)
    const page = searchParams.has('page_token')
      ? { tables: ['people'] }
      : { tables: ['orders'], page_token: '2' }
    if (pathname.endsWith('/table/list')) response.end(JSON.stringify(page))
    else void answering(received, response, request)
  }
  const { messages } = await probe(server.url, restrict(declared, ['peop*']))
  expect(messages).toContain('restricted table crm/people of the upstream catalog')
})

it('reads nothing of an upstream whose tables no restriction is for', async () => {
  const { url } = await startCatalog()
  const { messages } = await probe(url(), { name: 'crm', namespace: ['crm'], rules: [] })
  expect(messages).not.toContain('restricted')
})
