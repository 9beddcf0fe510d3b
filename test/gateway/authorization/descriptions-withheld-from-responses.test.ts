import { expect, it } from 'vitest'
import { policyOf, ruleFor } from '../../attacks/support/policy-templates.ts'
import { arrowUpload } from '../../support/arrow-upload.ts'
import { allowEverything } from '../support/open-gateway.ts'
import { respondWith } from '../support/recording-upstream.ts'
import { useSharedGateway } from '../support/running-gateway.ts'

// A principal that may write an object but not read it must not read it in the responses to its writes.
const shared = useSharedGateway({
  users: ['writer', 'reader', 'creator'],
  policies: [
    allowEverything,
    policyOf(
      ['lake'],
      [
        ruleFor(
          ['writer', 'reader'],
          ['create', 'write', 'admin', 'drop', 'commit', 'credentials', 'QueryTable'],
        ),
        ruleFor(['reader'], ['DescribeNamespace', 'DescribeTable'], { when: 'branch != "main"' }),
        ruleFor(['reader'], ['DescribeTransaction']),
        ruleFor(['creator'], ['CreateTable']),
        ruleFor(['writer'], ['browse'], { effect: 'deny' }),
      ],
    ),
  ],
})

const described = { location: 's3://lake/t', properties: { owner: 'ann' }, version: 3, transaction_id: 'x' }

it.each<[what: string, path: string, body: object | string, left: readonly string[]]>([
  ['CreateNamespace', '/v1/namespace/lake$n/create', {}, ['transaction_id']],
  ['DropNamespace', '/v1/namespace/lake$n/drop', {}, ['transaction_id']],
  ['DropTable', '/v1/table/lake$t/drop', {}, ['transaction_id']],
  ['DeregisterTable', '/v1/table/lake$t/deregister', {}, ['transaction_id']],
  ['RegisterTable', '/v1/table/lake$t/register', { location: 's3://lake/t' }, ['transaction_id']],
  ['DeclareTable', '/v1/table/lake$t/declare', {}, ['transaction_id']],
  ['CreateTable', '/v1/table/lake$t/create?mode=existok', arrowUpload, ['transaction_id']],
  ['UpdateTable', '/v1/table/lake$t/update', { updates: [] }, ['version', 'transaction_id']],
  ['DeleteFromTable', '/v1/table/lake$t/delete', { predicate: 'true' }, ['version', 'transaction_id']],
  ['RenameTable', '/v1/table/lake$t/rename', { new_table_name: 'u' }, ['transaction_id']],
  ['AlterTransaction', '/v1/transaction/lake$t$1/alter', { actions: [] }, []],
])('%s describes the object only to callers that may describe it', async (_what, path, body, left) => {
  const { gateway, upstream } = shared
  // Catalogs add members that the catalog API does not give to a response.
  const whole = { ...described, schema: { fields: [] }, secret_plan: 'x' }
  upstream.handler = respondWith(200, whole)
  const send = (as: string) => gateway.post(path, { as, body })
  expect((await send('reader')).json).toEqual(whole)
  const rest = Object.fromEntries(Object.entries(whole).filter(([name]) => left.includes(name)))
  expect(await send('writer')).toMatchObject({ status: 200 })
  expect((await send('writer')).json).toEqual(rest)
})

it('shows where the store is only with the description or with credentials', async () => {
  const { gateway, upstream } = shared
  const options = { aws_region: 'eu', aws_secret_access_key: 'secret' }
  upstream.handler = respondWith(200, { transaction_id: 'x', storage_options: options })
  const create = (as: string) =>
    gateway.post('/v1/table/lake$t/create?mode=existok', { as, body: arrowUpload })
  expect((await create('writer')).json).toEqual({ transaction_id: 'x', storage_options: options })
  expect((await create('creator')).json).toEqual({ transaction_id: 'x' })
})

it.each<[what: string, action: string, body: object, response: object, left: object]>([
  [
    'the map of schema metadata',
    'schema_metadata/update',
    { team: 'a' },
    { owner: 'ann', properties: 'x' },
    {},
  ],
  [
    'the metadata of fields',
    'update_field_metadata',
    { updates: [] },
    { version: 4, fields: { email: { pii: 'yes' } } },
    { version: 4 },
  ],
])('withholds %s from callers that may not describe the table', async (_, action, body, response, left) => {
  shared.upstream.handler = respondWith(200, response)
  const send = (as: string) => shared.gateway.post(`/v1/table/lake$t/${action}`, { as, body })
  expect((await send('reader')).json).toEqual(response)
  expect((await send('writer')).json).toEqual(left)
})

it('a batch describes its tables only if the caller may describe each of them', async () => {
  const { gateway, upstream } = shared
  const results = [
    { declare_table: { location: 's3://lake/t', properties: { owner: 'ann' } } },
    { create_table_version: { version: { version: 2, manifest_path: 'lake/t/_versions/2.manifest' } } },
  ]
  upstream.handler = respondWith(200, { results })
  const operations = [
    { declare_table: { id: ['lake', 't'] } },
    { create_table_version: { id: ['lake', 'u'], version: 2, manifest_path: 'lake/u/_versions/s' } },
  ]
  const send = (as: string) => gateway.post('/v1/table/batch-commit', { as, body: { operations } })
  expect((await send('dev')).json).toEqual({ results })
  expect((await send('reader')).json).toEqual({ results })
  expect((await send('writer')).json).toEqual({ results: [{ declare_table: {} }, results[1]] })
})

const error = 'branch ci/1 is kept by the tag secret-launch'
const hidden = 'the upstream refused the request with status 400'
const table = '/v1/table/lake$t'
const entry = { delete_table_versions: { id: ['lake', 't'], ranges: [] } }

it.each([
  [`${table}/branches/delete`, { name: 'ci/1' }, 400, 13, hidden],
  [`${table}/tags/create`, { tag: 'v1', version: 1 }, 409, 9, 'the tag already exists'],
  [`${table}/tags/create`, { tag: 'v1', version: 1 }, 400, 13, hidden],
  [`${table}/tags/delete`, { tag: 'v1' }, 404, 8, 'the table has no such tag'],
  [`${table}/branches/create`, { name: 'ci/1' }, 409, 23, 'the branch already exists'],
  [`${table}/query`, { branch: 'ci/2' }, 404, 22, 'the table has no such branch'],
  [`${table}/version/delete`, { ranges: [] }, 400, 13, hidden],
  ['/v1/table/batch-commit', { operations: [entry] }, 400, 13, hidden],
  [`${table}/update`, { updates: [] }, 400, 13, error],
])(
  'an error of %s names no tag or branch to callers that may not list them',
  async (path, body, status, code, says) => {
    shared.upstream.handler = respondWith(status, { error, code })
    const send = (as: string) => shared.gateway.post(path, { as, body })
    expect((await send('dev')).json).toMatchObject({ error, code })
    expect(await send('writer')).toMatchObject({ status, json: { error: says, code } })
  },
)
