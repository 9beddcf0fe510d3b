import {
  Dictionary,
  Field,
  Int32,
  Int64,
  tableFromArrays,
  tableToIPC,
  Utf8,
  vectorFromArray,
  Struct,
  Table,
} from 'apache-arrow'
import { beforeEach, expect, it } from 'vitest'
import { getOperation, operationNames } from '../../../src/catalog-api/operations.ts'
import { encodeFile } from '../../support/arrow-file.ts'
import { ofKind, recordsOf } from '../../audit/audit-fixtures.ts'
import { createMinimalRequest } from '../support/minimal-request.ts'
import { expectError } from '../support/expect-error.ts'
import { allowEverything } from '../support/open-gateway.ts'
import { rawRequest, sendRaw } from '../support/raw-request.ts'
import { respondWith } from '../support/recording-upstream.ts'
import { useSharedGateway } from '../support/running-gateway.ts'

const shared = useSharedGateway({
  adjust: (settings) => ({
    ...settings,
    audit: { ...settings.audit, reads: true },
  }),
  users: ['analyst', 'officer'],
  policies: [
    allowEverything,
    {
      name: 'crm',
      namespace: ['sales'],
      restrict: [
        {
          id: 'analysts-eu',
          subjects: { users: ['analyst'] },
          tables: ['ord*'],
          columns: { id: 'number', name: 'text', 'person.city': 'text', ok: 'boolean', v: 'other' },
          rows: "region = 'EU' and tenant in ('a', 'b''c')",
        },
        {
          id: 'all-rows',
          subjects: { users: ['analyst'] },
          tables: ['texts'],
          columns: { id: 'number', name: 'text', title: 'text', v: 'other' },
        },
      ],
      rules: [
        { id: 'all', effect: 'allow', subjects: { users: ['analyst', 'officer'] }, operations: ['all'] },
      ],
    },
  ],
})

const rows = "((`region` = 'EU') AND (`tenant` IN ('a', 'b''c')))"
const visible = ['id', 'name', 'person.city', 'ok', 'v']
const arrow = { 'content-type': 'application/vnd.apache.arrow.file' }
const lancedb = { 'x-lancedb-database': 'any' }

function write(table: Table, form: 'file' | 'stream'): Buffer {
  return form === 'file' ? encodeFile(table) : Buffer.from(tableToIPC(table, 'stream'))
}

const answerOf = (...names: string[]): Buffer =>
  write(tableFromArrays(Object.fromEntries(names.map((name) => [name, [1]]))), 'file')

beforeEach(() => {
  shared.upstream.requests.length = 0
  shared.upstream.answering = respondWith(200, answerOf(), arrow)
})

async function forwarded(): Promise<unknown> {
  const [request, ...others] = shared.upstream.requests
  expect(others).toEqual([])
  return JSON.parse(String(await request?.body))
}

it.each<[what: string, sent: object, forwarded: object]>([
  ['everything', { k: 3 }, { k: 3, filter: rows, prefilter: true, columns: { column_names: visible } }],
  [
    'a condition',
    { filter: "Name = 'x'".replace('N', 'n'), columns: ['id'], prefilter: false },
    { filter: `(${rows} AND (\`name\` = 'x'))`, prefilter: true, columns: ['id'] },
  ],
  [
    'names, with the empty members of generated clients',
    {
      columns: { column_names: ['id'], column_aliases: {} },
      vector: { single_vector: [], multi_vector: [] },
    },
    { filter: rows, prefilter: true, columns: { column_names: ['id'] }, vector: {} },
  ],
])('a query of %s is sent with what the policy leaves', async (_what, sent, expected) => {
  const response = await shared.gateway.post('/v1/table/sales$orders/query', { as: 'analyst', body: sent })
  expect(await forwarded()).toEqual(expected)
  expect(response.status).toBe(200)
})

const red = { terms: 'red', column: 'name' }
const allTexts = { column_names: ['id', 'name', 'title', 'v', '_score'] }

it.each<[what: string, sent: object, changed: object]>([
  [
    'words in named columns',
    { full_text_query: { string_query: { query: 'red', columns: ['name', 'title'] } }, k: 5 },
    { columns: allTexts },
  ],
  [
    'words in named columns, without a wrapper',
    { full_text_query: { query: 'red', columns: ['name'] }, columns: ['_score', 'id'] },
    {},
  ],
  [
    'a structured query',
    {
      full_text_query: {
        structured_query: {
          query: {
            boolean: {
              must: [{ match: red }],
              should: [{ multi_match: { query: 'red', columns: ['name', 'title'] } }],
              must_not: [{ boost: { positive: { match: red }, negative: { phrase: red } } }],
            },
          },
        },
      },
      columns: { a: 'id', b: '_score' },
      filter: 'id > 1',
    },
    { columns: { a: '`id`', b: '_score' }, filter: '(`id` > 1)', prefilter: true },
  ],
])('if all rows are visible, a full-text query of %s is sent', async (_what, sent, changed) => {
  shared.upstream.answering = respondWith(200, answerOf('id', '_score'), arrow)
  await shared.gateway.post('/v1/table/sales$texts/query', { as: 'analyst', body: sent })
  expect(await forwarded()).toEqual({ ...sent, ...changed })
})

it.each<[what: string, query: object, says: string]>([
  [
    'no words',
    { structured_query: { query: { boolean: { must: [], should: [], must_not: [] } } } },
    'no words',
  ],
  ['no column', { string_query: { query: 'red' } }, 'names no column'],
  ['no columns', { string_query: { query: 'red', columns: [] } }, 'names no column'],
  ['no column of a match', { structured_query: { query: { match: { terms: 'red' } } } }, 'names no column'],
  ['a hidden column', { string_query: { query: 'red', columns: ['ssn'] } }, 'no column "ssn"'],
  ['a hidden column among others', { query: 'red', columns: ['name', 'ssn'] }, 'no column "ssn"'],
  ['a hidden column of a phrase', { query: { phrase: { terms: 'red', column: 'ssn' } } }, 'no column "ssn"'],
  [
    'a hidden column of a part',
    { query: { boost: { positive: { match: red }, negative: { match: { terms: 'red', column: 'ssn' } } } } },
    'no column "ssn"',
  ],
  [
    'a hidden column of several matches',
    { query: { multi_match: { match_queries: [red, { terms: 'red', column: 'ssn' }] } } },
    'no column "ssn"',
  ],
  [
    'hidden columns beside several matches',
    { query: { multi_match: { match_queries: [red], query: 'red', columns: ['ssn'] } } },
    'no column "ssn"',
  ],
  [
    'a match without a column among others',
    { query: { boolean: { must: [{ match: red }], must_not: [{ match: { terms: 'red' } }], should: [] } } },
    'names no column',
  ],
])('a full-text query of %s is refused', async (_what, query, says) => {
  const body = { full_text_query: query }
  const response = await shared.gateway.post('/v1/table/sales$texts/query', { as: 'analyst', body })
  expectError(response, { kind: 'InvalidInput', says })
  expect(shared.upstream.requests).toEqual([])
})

it('a search for several vectors may return which of them found a row', async () => {
  shared.upstream.answering = respondWith(200, answerOf('query_index', 'id', '_distance'), arrow)
  const search = { vector_column: 'v', columns: ['id'], k: 1 }
  const statusOf = async (vector: object) => {
    const body = { ...search, vector }
    const { status } = await shared.gateway.post('/v1/table/sales$texts/query', { as: 'analyst', body })
    return status
  }
  expect(await statusOf({ multi_vector: [[1], [2]] })).toBe(200)
  expect(await statusOf([[1], [2]])).toBe(200)
  expect(await statusOf({ single_vector: [1, 2] })).toBe(502)
})

it('columns are added as the client sends them', async () => {
  await shared.gateway.post('/v1/table/sales$orders/query', {
    as: 'analyst',
    body: { vector: [] },
    headers: lancedb,
  })
  expect(await forwarded()).toMatchObject({ columns: visible })
})

it('numbers are forwarded as they were sent', async () => {
  const body = '{"k":18446744073709551615,"filter":"id > 9007199254740993"}'
  const headers = { 'content-type': 'application/json' }
  await shared.gateway.post('/v1/table/sales$orders/query', { as: 'analyst', body, headers })
  const sent = String(await shared.upstream.requests[0]?.body)
  expect(sent).toContain('"k":18446744073709551615')
  expect(sent).toContain('(`id` > 9007199254740993)')
})

it.each<[body: object | undefined, predicate: string]>([
  [undefined, rows],
  [{}, rows],
  [{ predicate: 'ok or id in (1, -2)' }, `(${rows} AND (\`ok\` OR (\`id\` IN (1, -2))))`],
])('a count with %o counts visible rows', async (body, predicate) => {
  shared.upstream.answering = respondWith(200, '2')
  const response = await shared.gateway.post('/v1/table/sales$orders/count_rows', {
    as: 'analyst',
    ...(body && { body }),
  })
  expect(response).toMatchObject({ status: 200, json: 2 })
  expect(await forwarded()).toEqual({ predicate })
})

it('a body that is null is restricted', async () => {
  const headers = { 'content-type': 'application/json' }
  shared.upstream.answering = respondWith(200, '2')
  await shared.gateway.post('/v1/table/sales$orders/count_rows', { as: 'analyst', body: 'null', headers })
  expect(await forwarded()).toEqual({ predicate: rows })
  shared.upstream.requests.length = 0
  await shared.gateway.post('/v1/table/sales$orders/query', { as: 'analyst', body: ' null', headers })
  expect(await forwarded()).toEqual({
    filter: rows,
    prefilter: true,
    columns: { column_names: visible },
  })
})

it('a count by GET counts visible rows', async () => {
  shared.upstream.answering = respondWith(200, '2')
  expect(
    await shared.gateway.send('GET', '/v1/table/sales$orders/count_rows', { as: 'analyst' }),
  ).toMatchObject({
    json: 2,
  })
  expect(await forwarded()).toEqual({ predicate: rows })
})

it.each<[action: string, body: object, says: string]>([
  ['query', { columns: ['ssn'] }, 'there is no column "ssn"$'],
  ['query', { filter: "region = 'US'" }, '"filter": there is no column "region" .character 1.'],
  ['query', { version: 1 }, 'only its newest version'],
  ['count_rows', { predicate: "ssn = 'a'" }, '"predicate": there is no column "ssn"'],
  ['describe', { tag: 'old' }, 'only its newest version'],
])('%s with %o is refused and not forwarded', async (action, body, says) => {
  const response = await shared.gateway.post(`/v1/table/sales$orders/${action}`, { as: 'analyst', body })
  expectError(response, { kind: 'InvalidInput', says })
  expect(shared.upstream.requests).toEqual([])
})

it('other callers read everything', async () => {
  shared.upstream.answering = respondWith(200, {})
  await shared.gateway.post('/v1/table/sales$orders/query', { as: 'officer', body: { filter: "ssn = 'a'" } })
  expect(await forwarded()).toEqual({ filter: "ssn = 'a'" })
})

it('everything else about the table is denied', async () => {
  const operations = operationNames.map(getOperation)
  const denied = operations.filter(
    ({ object, readsPart, entries, lists, part }) =>
      object === 'table' && readsPart === undefined && entries === undefined && lists === undefined && !part,
  )
  expect(denied.length).toBeGreaterThan(30)
  for (const { name } of denied) {
    const { path, members: body, method, query } = createMinimalRequest(name)
    const response = await shared.gateway.send(method, `${path}?${query}`, {
      as: 'analyst',
      ...(body !== undefined && { body }),
    })
    expect({ name, status: response.status }).toEqual({ name, status: 403 })
  }
  expect(shared.upstream.requests).toEqual([])
})

it('a denial says that only a part of the table can be read, and how', async () => {
  const { json } = await shared.gateway.post('/v1/table/sales$orders/drop', { as: 'analyst' })
  expect(json).toMatchObject({
    error: 'you are not allowed DropTable on "sales$orders"',
    detail:
      'authenticated as analyst; you may read a part of this table only, by DescribeTable, TableExists, QueryTable, CountTableRows',
  })
})

const type = (name: string, fields?: object[]): object => ({ type: name, ...(fields && { fields }) })
const field = (name: string, of: object): object => ({
  name,
  type: of,
  nullable: true,
  metadata: { secret: 'x' },
})
const shown = (name: string, of: object): object => ({ name, type: of, nullable: true })

it('a description has the visible columns only', async () => {
  shared.upstream.answering = respondWith(200, {
    table: 't',
    namespace: [],
    version: 4,
    location: 's3://lake/t',
    table_uri: 's3://lake/t',
    properties: { owner: 'x' },
    stats: { num_rows: 10 },
    schema: {
      metadata: { secret: 'x' },
      fields: [
        field('id', type('int64')),
        field('ssn', type('utf8')),
        field('person', type('struct', [field('city', type('utf8')), field('ssn', type('utf8'))])),
        field('v', type('fixed_size_list', [field('item', type('float32'))])),
      ],
    },
  })
  const { json } = await shared.gateway.post('/v1/table/sales$orders/describe', { as: 'analyst', body: {} })
  expect(json).toEqual({
    table: 't',
    namespace: [],
    version: 4,
    schema: {
      fields: [
        shown('id', type('int64')),
        shown('person', type('struct', [shown('city', type('utf8'))])),
        shown('v', type('fixed_size_list', [shown('item', type('float32'))])),
      ],
    },
  })
})

const dictionary = new Table({ id: vectorFromArray(['a'], new Dictionary(new Utf8(), new Int32())) })
const withPerson = new Table({
  id: vectorFromArray([1n], new Int64()),
  person: vectorFromArray([{ ssn: 'a' }], new Struct([Field.new('ssn', new Utf8())])),
})

it.each<[what: string, answer: Buffer | string, says: string]>([
  ['a column that was not asked for', answerOf('id', 'ssn'), 'a column that was not asked for'],
  [
    'a dictionary, which has the values of all rows',
    write(dictionary, 'stream'),
    'a dictionary, which may hold',
  ],
  ['a hidden part of a struct', write(withPerson, 'file'), 'a column that was not asked for'],
  ['anything but Arrow', 'id,name,city', 'the response is not Arrow'],
  ['nothing', '', 'ends before its columns are known'],
  ['a schema that is cut', answerOf('id').subarray(0, 40), 'ends before its columns are known'],
])('a response with %s is refused', async (_what, answer, says) => {
  shared.upstream.answering = respondWith(200, answer)
  const response = await shared.gateway.post('/v1/table/sales$orders/query', { as: 'analyst', body: {} })
  expectError(response, { kind: 'ServiceUnavailable', status: 502, says: new RegExp(says) })
  expect(response.bytes.toString()).not.toContain('ssn')
})

it.each(['file', 'stream'] as const)(
  'a response as a %s passes, in whatever pieces it arrives',
  async (form) => {
    const answer = write(tableFromArrays({ id: [1, 2], v: [3, 4] }), form)
    shared.upstream.answering = (_request, response) => {
      response.writeHead(200)
      void (async () => {
        for (const byte of answer.subarray(0, 400)) {
          response.write(Buffer.of(byte))
          await new Promise(setImmediate)
        }
        response.end(answer.subarray(400))
      })()
    }
    const response = await shared.gateway.post('/v1/table/sales$orders/query', { as: 'analyst', body: {} })
    expect(response).toMatchObject({ status: 200 })
    expect(response.bytes.equals(answer)).toBe(true)
  },
)

it('a response that arrives at once is sent once, and the connection remains open', async () => {
  const answer = write(tableFromArrays({ id: [1, 2], v: [3, 4] }), 'stream')
  shared.upstream.answering = (_request, response) => {
    response.writeHead(200, { 'content-length': answer.length }).end(answer)
  }
  const query = (connection: string): string =>
    rawRequest([
      'POST /v1/table/sales$orders/query HTTP/1.1',
      'host: a',
      `x-api-key: ${shared.gateway.key('analyst')}`,
      `connection: ${connection}`,
      'content-length: 0',
    ])
  const responses = await sendRaw(shared.gateway.url, query('keep-alive') + query('close'))
  expect(responses.map(({ bytes }) => bytes.equals(answer))).toEqual([true, true])
})

it.each([
  [400, { error: 'No field named secret. Valid fields are ssn', code: 13 }],
  [500, { error: "Cannot cast string 'CANARY' to Int64", code: 18 }],
  [404, { error: 'no column "secret"', code: 12 }],
])(
  'an error of the catalog with status %i says nothing of hidden rows and columns',
  async (status, error) => {
    shared.upstream.answering = respondWith(status, error)
    const response = await shared.gateway.post('/v1/table/sales$orders/query', { as: 'analyst', body: {} })
    expectError(response, {
      kind: 'InvalidInput',
      says: /^the catalog cannot answer this for a caller who may read a part of the table only$/,
    })
  },
)

it('a table that does not exist is missing for everyone', async () => {
  shared.upstream.answering = respondWith(404, { error: 'Table t was not found', code: 4 })
  const response = await shared.gateway.post('/v1/table/sales$orders/query', { as: 'analyst', body: {} })
  expect(response).toMatchObject({ status: 404, json: { code: 4 } })
})

it('restricted reads are counted, with the reasons of refusals', async () => {
  const read = async (): Promise<ReadonlyMap<string, number>> => {
    const text = await (await fetch(`${shared.gateway.adminUrl}/metrics`)).text()
    const counts = text.matchAll(/^catalog_gateway_restricted_reads_total\{(.*)\} (\d+)$/gm)
    return new Map([...counts].map(([, labels = '', count]) => [labels, Number(count)]))
  }
  const before = await read()
  for (const body of [{}, { columns: ['ssn'] }, { filter: '1' }, { version: 1 }, { with_row_id: true }])
    await shared.gateway.post('/v1/table/sales$orders/query', { as: 'analyst', body })
  await shared.gateway.post('/v1/table/sales$orders/query', { as: 'officer', body: {} })
  await shared.gateway.post('/v1/table/sales$orders/drop', { as: 'analyst' })
  const grown = [...(await read())].filter(([labels, count]) => count !== (before.get(labels) ?? 0))
  expect(new Set(grown.map(([labels]) => labels))).toEqual(
    new Set(
      ['restricted', 'restricted_column', 'restricted_filter', 'restricted_version', 'restricted_member'].map(
        (result) => `operation="QueryTable",result="${result}"`,
      ),
    ),
  )
})

it('the record of a read names the restrictions', async () => {
  const headers = { 'x-request-id': 'restricted' }
  await shared.gateway.post('/v1/table/sales$orders/query', { as: 'analyst', body: {}, headers })
  await shared.gateway.post('/v1/table/sales$orders/exists', { as: 'officer' })
  const intents = ofKind(await recordsOf(shared.gateway.auditFolder), 'intent')
  const restricted = intents.find(({ request }) => request === 'restricted')
  expect(restricted?.restrictedBy).toMatchObject([{ policy: 'crm', rule: 'analysts-eu' }])
  expect(intents.at(-1)).not.toHaveProperty('restrictedBy')
})
