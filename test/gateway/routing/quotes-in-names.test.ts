import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { upstreamSchema } from '../../../src/config/upstream/upstream-settings.ts'
import { expectError } from '../support/expect-error.ts'
import { serveListings } from '../support/listing-upstream.ts'
import { openGateway, type TestedGateway } from '../support/open-gateway.ts'
import {
  healthPath,
  respondWith,
  startRecordingUpstream,
  type RecordingUpstream,
} from '../support/recording-upstream.ts'

/** The catalog of `lake` accepts quotes in names, that of the root does not. */
let gateway: TestedGateway
let lake: RecordingUpstream
let root: RecordingUpstream

beforeAll(async () => {
  ;[lake, root] = [await startRecordingUpstream(), await startRecordingUpstream()]
  const healthCheck = { path: healthPath }
  gateway = await openGateway('http://127.0.0.1:9', {
    adjust: (settings) => ({
      ...settings,
      upstreams: [
        upstreamSchema.parse({ name: 'root', url: root.url, healthCheck }),
        {
          ...upstreamSchema.parse({ name: 'lake', url: lake.url, healthCheck, quotesInNames: 'allowed' }),
          namespaces: [['lake']],
        },
      ],
    }),
  })
})
afterEach(() => {
  for (const upstream of [lake, root]) {
    upstream.requests.length = 0
    upstream.answering = respondWith(200, {})
  }
})
afterAll(async () => {
  await gateway.close()
  await lake.close()
  await root.close()
})

function expectNothingForwarded(): void {
  expect([...lake.requests, ...root.requests].map(({ target }) => target)).toEqual([])
}

it.each([
  ["lake$o'brien", 'lake%24o%27brien'],
  ['lake$a%22b', 'lake%24a%22b'],
  ['lake$a%60b', 'lake%24a%60b'],
])('forwards the id %s to a catalog that accepts quotes', async (id, sent) => {
  expect(await gateway.post(`/v1/table/${id}/describe`)).toMatchObject({ status: 200 })
  expect(lake.requests.map(({ target }) => target)).toEqual([`/v1/table/${sent}/describe`])
})

it('lists names with quotes of a catalog that accepts them, and of no other', async () => {
  lake.answering = serveListings({ tables: { lake: ["o'brien", 'a"b', 't'] }, allTables: ["lake$o'brien"] })
  root.answering = serveListings({ tables: { '': ["o'brien", 't'] }, allTables: ["o'brien", 't'] })
  expect((await gateway.get('/v1/namespace/lake/table/list')).json).toEqual({
    tables: ["o'brien", 'a"b', 't'],
  })
  expect((await gateway.get('/v1/namespace/$/table/list')).json).toEqual({ tables: ['t'] })
  expect((await gateway.get('/v1/table')).json).toEqual({ tables: ["lake$o'brien", 't'] })
})

it.each([
  ['percent sign', '%25'],
  ['number sign', '%23'],
  ['question mark', '%3F'],
  ['slash', '%2F'],
  ['backslash', '%5C'],
  ['line break', '%0A'],
  ['control character of the second block', '%C2%85'],
])('refuses a %s even for a catalog that accepts quotes', async (_what, encoded) => {
  const says = 'which is not allowed in a name'
  expectError(await gateway.post(`/v1/table/lake$a${encoded}b/describe`), { kind: 'InvalidInput', says })
  expectNothingForwarded()
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
])('refuses a quote in the %s for a catalog that does not accept it', async (_what, target, parts) => {
  const response = target.endsWith('list') ? await gateway.get(target) : await gateway.post(target, parts)
  expectError(response, { kind: 'InvalidInput', says: `contains "'", which is not allowed in a name` })
  expectNothingForwarded()
})

it('accepts quotes in the new name and in batches of a catalog that accepts them', async () => {
  const renamed = await gateway.post('/v1/table/lake$t/rename', rename({ new_table_name: "o'brien" }))
  expect(renamed).toMatchObject({ status: 200 })
  const body = { operations: [declaration(['lake', "o'brien"])] }
  expect(await gateway.post('/v1/table/batch-commit', { body })).toMatchObject({ status: 200 })
  expect(lake.requests).toHaveLength(2)
})
