import { expect, it } from 'vitest'
import { request } from 'undici'
import { getOperation, operationNames, type BuiltInOperation } from '../../../catalog-api/operations.ts'
import { buildTarget } from '../../../catalog-api/request-target.ts'
import { sampleRequests } from '../../../../test/conformance/sample-requests.ts'
import { errorOf, runningBackend } from '../support/running-backend.ts'

/** The server checks every operation itself, because it may run without a gateway. */
const operations = operationNames.map(getOperation)
const withId = operations.filter(({ routeMembers }) => routeMembers.includes('id'))
const withIndex = operations.filter(({ routeMembers }) => routeMembers.includes('index_name'))

const id = ['n', 'absent']
const others = [['n', 'x'], ['n'], ['n', 'absent', ''], ['absent', 'n'], [], 'n$absent', [7], {}, 7]

/** Sends the minimal request of the operation with these members added; GET carries a body, too. */
async function send(url: string, operation: BuiltInOperation, members: object) {
  const { body: sample, query = {} } = sampleRequests[operation.name] ?? {}
  const indexName = operation.routeMembers.includes('index_name') ? 'an_index' : undefined
  const blob = operation.response === 'bytes' ? { blob: { column: 'image', rowId: '7' } } : {}
  const parameters = new Map(Object.entries(query))
  const target = buildTarget({ operation, id, delimiter: '$', indexName, ...blob, parameters })
  const { statusCode, body } = await request(url + target, {
    method: operation.method,
    body: JSON.stringify({ ...(sample as object | undefined), ...members }),
  })
  const text = await body.text()
  return { status: statusCode, error: text === '' ? '' : (JSON.parse(text) as { error: string }).error }
}

it('rejects an id in the body that differs from the route, in every operation', async () => {
  const { url } = await runningBackend()
  expect(withId.length).toBeGreaterThan(40)
  for (const operation of withId) {
    const responses = await Promise.all(others.map((other) => send(url(), operation, { id: other })))
    const error = expect.stringMatching(/^the "id" in the body differs|^the member "id" of the body/)
    expect([operation.name, responses]).toEqual([operation.name, others.map(() => ({ status: 400, error }))])
  }
})

it('accepts an id in the body that is equal, null or absent', async () => {
  const { url } = await runningBackend()
  for (const operation of withId) {
    for (const same of [{ id }, { id: null }, {}]) {
      const { status, error } = await send(url(), operation, same)
      // Neither the object nor the dataset to register exists, and several operations are not supported.
      const statuses = operation.name === 'RegisterTable' ? [400] : [404, 406]
      const expected = [expect.toBeOneOf(statuses), expect.not.stringContaining('"id"')]
      expect([operation.name, same, status, error]).toEqual([operation.name, same, ...expected])
    }
  }
})

it('an index name in the body that differs from the route is refused', async () => {
  const { url } = await runningBackend()
  expect(withIndex.map(({ name }) => name)).toEqual([
    'DescribeTableIndexStats',
    'DropTableIndex',
    'PrewarmTableIndex',
  ])
  for (const operation of withIndex) {
    for (const name of ['other', '', 7, ['an_index']]) {
      expect((await send(url(), operation, { index_name: name })).error).toContain('"index_name" in the body')
    }
    expect((await send(url(), operation, { index_name: 'an_index' })).status).toBe(404)
  }
})

it('accepts a repeated id in a query and rejects a different one', async () => {
  const { post } = await runningBackend()
  for (const path of ['explain_plan', 'analyze_plan']) {
    const explain = (query: object) =>
      post(`/v1/table/n$absent/${path}`, { query: { k: 1, vector: [], ...query } })
    for (const other of others) {
      expect(await explain({ id: other }), JSON.stringify(other)).toEqual(errorOf('InvalidInput'))
    }
    expect(await explain({ id })).toEqual(errorOf('NamespaceNotFound'))
  }
})

it('rejects a body that contradicts the query parameters', async () => {
  const { post } = await runningBackend()
  const differing: [path: string, body: object][] = [
    ['describe?check_declared=true', { check_declared: false }],
    ['version/list?limit=1', { limit: 2 }],
    ['version/list?branch=dev', { branch: 'main' }],
    ['tags/list?page_token=a', { page_token: 'b' }],
    ['index/i/drop?branch=dev', { branch: 'main' }],
    ['schema_metadata/update?branch=dev', { branch: 'main', metadata: { a: 'b' } }],
  ]
  for (const [path, body] of differing) {
    expect(await post(`/v1/table/t/${path}`, body), path).toEqual(errorOf('InvalidInput'))
  }
  for (const [path, body] of [
    ['describe?check_declared=true', { check_declared: true }],
    ['version/list?limit=1', { limit: 1 }],
    ['version/list?limit=1', { limit: null }],
  ] as const) {
    expect(await post(`/v1/table/t/${path}`, body), path).toEqual(errorOf('TableNotFound'))
  }
})

it('reads the table of a transaction only from the route', async () => {
  const { post } = await runningBackend()
  for (const action of ['describe', 'alter']) {
    const transaction = (body: object) =>
      post(`/v1/transaction/00000000-0000-4000-8000-000000000000/${action}`, {
        actions: [{ unsetPropertyAction: { key: 'x' } }],
        ...body,
      })
    expect(await transaction({})).toEqual(errorOf('InvalidInput'))
    expect(await transaction({ id: ['n', 't'] })).toEqual(errorOf('InvalidInput'))
  }
})

it('rejects a malformed envelope in every operation', async () => {
  const { post } = await runningBackend()
  for (const body of [
    { context: 7 },
    { context: { a: 1 } },
    { identity: 'x' },
    { identity: { api_key: 7 } },
  ]) {
    for (const path of ['describe', 'query', 'drop']) {
      expect(await post(`/v1/table/t/${path}`, { k: 1, vector: [], ...body })).toEqual(
        errorOf('InvalidInput'),
      )
    }
  }
})
