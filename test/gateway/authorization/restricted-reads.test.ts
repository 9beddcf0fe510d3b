import { tableFromArrays } from 'apache-arrow'
import { beforeEach, expect, it } from 'vitest'
import { policyOf, ruleFor } from '../../attacks/support/policy-templates.ts'
import { getOperation, operationNames } from '../../../src/catalog-api/operations.ts'
import { encodeFile } from '../../support/arrow-file.ts'
import { createMinimalRequest } from '../support/minimal-request.ts'
import { expectError } from '../support/expect-error.ts'
import { allowEverything } from '../support/open-gateway.ts'
import { keyedRequest, sendRaw } from '../support/raw-request.ts'
import { respondWith } from '../support/recording-upstream.ts'
import { useSharedGateway } from '../support/running-gateway.ts'

const shared = useSharedGateway({
  settings: { audit: { reads: true } },
  users: ['analyst', 'officer'],
  policies: [
    allowEverything,
    policyOf(['sales'], [ruleFor(['analyst', 'officer'])], {
      name: 'crm',
      restrict: [
        {
          id: 'analysts-eu',
          subjects: { users: ['analyst'] },
          tables: ['ord*'],
          columns: { id: 'number', name: 'text', 'person.city': 'text', ok: 'boolean', v: 'other' },
          rows: "region = 'EU' and tenant in ('a', 'b''c')",
        },
      ],
    }),
  ],
})

const rows = "((`region` = 'EU') AND (`tenant` IN ('a', 'b''c')))"
const visible = ['id', 'name', 'person.city', 'ok', 'v']
const arrow = { 'content-type': 'application/vnd.apache.arrow.file' }

const encodeColumns = (...names: string[]): Buffer =>
  encodeFile(tableFromArrays(Object.fromEntries(names.map((name) => [name, [1]]))))

beforeEach(() => {
  shared.upstream.handler = respondWith(200, encodeColumns(), arrow)
})

async function forwarded(): Promise<unknown> {
  const [request, ...others] = shared.upstream.requests
  expect(others).toEqual([])
  return JSON.parse(String(await request?.body))
}

it('a query is sent with what the policy leaves', async () => {
  const body = { filter: "name = 'x'", prefilter: false, k: 3 }
  const response = await shared.gateway.post('/v1/table/sales$orders/query', { as: 'analyst', body })
  expect(await forwarded()).toEqual({
    filter: `(${rows} AND (\`name\` = 'x'))`,
    prefilter: true,
    k: 3,
    columns: { column_names: visible },
  })
  expect(response.status).toBe(200)
})

it('a count by GET counts visible rows', async () => {
  shared.upstream.handler = respondWith(200, '2')
  const response = await shared.gateway.get('/v1/table/sales$orders/count_rows', { as: 'analyst' })
  expect(response).toMatchObject({ status: 200, json: 2 })
  expect(await forwarded()).toEqual({ predicate: rows })
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

it('a description has the visible columns only', async () => {
  const type = { type: 'int64' }
  const fields = ['id', 'ssn'].map((name) => ({ name, type, nullable: true, metadata: { secret: 'x' } }))
  const description = { table: 't', version: 4, location: 's3://lake/t', stats: {}, schema: { fields } }
  shared.upstream.handler = respondWith(200, description)
  const { json } = await shared.gateway.post('/v1/table/sales$orders/describe', { as: 'analyst', body: {} })
  const shown = [{ name: 'id', type, nullable: true }]
  expect(json).toEqual({ table: 't', version: 4, schema: { fields: shown } })
})

it('a response with a column that was not asked for is refused', async () => {
  shared.upstream.handler = respondWith(200, encodeColumns('id', 'ssn'))
  const response = await shared.gateway.post('/v1/table/sales$orders/query', { as: 'analyst', body: {} })
  expectError(response, { kind: 'ServiceUnavailable', status: 502, says: 'not asked for' })
  expect(response.bytes.toString()).not.toContain('ssn')
})

it('a response that arrives at once is sent once, and the connection remains open', async () => {
  const encoded = encodeColumns('id', 'v')
  shared.upstream.handler = (_request, response) => {
    response.writeHead(200, { 'content-length': encoded.length }).end(encoded)
  }
  const query = (connection: string): string =>
    keyedRequest(shared.gateway, 'analyst', 'POST /v1/table/sales$orders/query', [
      `connection: ${connection}`,
      'content-length: 0',
    ])
  const responses = await sendRaw(shared.gateway.url, query('keep-alive') + query('close'))
  expect(responses.map(({ bytes }) => bytes.equals(encoded))).toEqual([true, true])
})

it('an error of the catalog says nothing of hidden rows and columns', async () => {
  shared.upstream.handler = respondWith(500, { error: "Cannot cast string 'CANARY' to Int64", code: 18 })
  const response = await shared.gateway.post('/v1/table/sales$orders/query', { as: 'analyst', body: {} })
  expectError(response, {
    kind: 'InvalidInput',
    says: /^the catalog cannot answer this for a caller who may read a part of the table only$/,
  })
})

it('restricted reads are counted, with the reasons of refusals', async () => {
  const read = async (): Promise<ReadonlyMap<string, number>> => {
    const text = await shared.gateway.metrics()
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
  const intents = await shared.gateway.recorded('intent')
  const restricted = intents.find(({ request }) => request === 'restricted')
  expect(restricted?.restrictedBy).toMatchObject([{ policy: 'crm', rule: 'analysts-eu' }])
  expect(intents.at(-1)).not.toHaveProperty('restrictedBy')
})
