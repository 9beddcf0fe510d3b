import { expect, it } from 'vitest'
import { expectError } from '../support/expect-error.ts'
import { serveListings } from '../support/listing-upstream.ts'
import { useSharedGateway } from '../support/running-gateway.ts'

// A catalog that pastes names into SQL would run what follows a quote.
const shared = useSharedGateway()

it('leaves names with quotes out of listings', async () => {
  shared.upstream.answering = serveListings({
    tables: { '': ["o'brien", 'a"b', 't'] },
    allTables: ["o'brien", 't'],
  })
  expect((await shared.gateway.get('/v1/namespace/$/table/list')).json).toEqual({ tables: ['t'] })
  expect((await shared.gateway.get('/v1/table')).json).toEqual({ tables: ['t'] })
})

const rename = (members: object) => ({ body: members })
const declaration = (id: string[]) => ({ declare_table: { id } })
const version = (id: string[]) => ({ id, version: 2, manifest_path: `${id.join('/')}/_versions/staged` })

it.each<[what: string, target: string, { body?: object }]>([
  ['id in the route', "/v1/table/o'brien/describe", {}],
  ['namespace in the route', "/v1/namespace/o'brien/list", {}],
  ['new name', '/v1/table/t/rename', rename({ new_table_name: "o'brien" })],
  ['new namespace', '/v1/table/t/rename', rename({ new_table_name: 't', new_namespace_id: ["o'brien"] })],
  ['id in a batch', '/v1/table/batch-commit', { body: { operations: [declaration(["o'brien"])] } }],
  [
    'id of a version in a batch',
    '/v1/table/version/batch-create',
    { body: { entries: [version(["o'brien"])] } },
  ],
  ['index name', "/v1/table/lake$t/index/o'brien/stats", {}],
])('refuses a quote in the %s', async (_what, target, parts) => {
  const response = target.endsWith('list')
    ? await shared.gateway.get(target)
    : await shared.gateway.post(target, parts)
  expectError(response, { kind: 'InvalidInput', says: `contains "'", which is not allowed in a name` })
  expect(shared.upstream.requests).toEqual([])
})
