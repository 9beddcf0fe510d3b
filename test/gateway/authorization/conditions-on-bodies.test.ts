import { Readable } from 'node:stream'
import { beforeEach, expect, it } from 'vitest'
import { expectError } from '../support/expect-error.ts'
import { allowEverything, type RequestOptions } from '../support/open-gateway.ts'
import { useSharedGateway } from '../support/running-gateway.ts'
import { arrowUpload } from '../../support/arrow-upload.ts'

const shared = useSharedGateway({
  users: ['ci', 'stager', 'clerk'],
  policies: [
    allowEverything,
    {
      name: 'lake',
      namespace: ['lake'],
      onDeny: 403,
      commits: { metadata: ['ticket'], except: { users: ['ci'] } },
      rules: [
        {
          id: 'ci-on-branches',
          effect: 'allow',
          subjects: { users: ['ci'] },
          operations: ['commit', 'write', 'CreateTableBranch', 'DescribeTable'],
          when: 'branch.like("ci/*")',
        },
        {
          id: 'ci-reads-main',
          effect: 'allow',
          subjects: { users: ['ci'] },
          operations: ['QueryTable'],
          when: 'branch == "main"',
        },
        { id: 'stages', effect: 'allow', subjects: { users: ['stager'] }, operations: ['commit'] },
        {
          id: 'registers',
          effect: 'allow',
          subjects: { users: ['clerk'] },
          operations: ['RegisterTable', 'ChooseLocation', 'RenameTable', 'CreateTable'],
          when: 'destination == [] || destination[0] == "lake" && destination[1].startsWith("old_")',
        },
      ],
    },
    {
      name: 'folders',
      namespace: ['lake'],
      commits: { folders: ['warehouse/lake'], except: { users: ['ci', 'dev'] } },
      rules: [],
    },
  ],
})

beforeEach(() => shared.upstream.requests.splice(0))

const commit = { version: 2, manifest_path: 'warehouse/lake/orders/_versions/staging' }
const ticket = { metadata: { ticket: 'T-1' } }

type Row = [
  what: string,
  who: string,
  target: string,
  body: Exclude<RequestOptions['body'], undefined>,
  refused?: RegExp,
]

const rows: readonly Row[] = [
  ['a commit to a branch of CI', 'ci', 'orders/version/create', { ...commit, branch: 'ci/7' }],
  ['a commit to main', 'ci', 'orders/version/create', commit, /CreateTableVersion on "lake\$orders"/],
  ['main by nothing', 'ci', 'orders/version/create', { ...commit, branch: '' }, /CreateTableVersion/],
  ['an update without a body', 'ci', 'orders/update', '', /UpdateTable/],
  ['an insert into a branch', 'ci', 'orders/insert?branch=ci%2F7', arrowUpload],
  ['an insert into main', 'ci', 'orders/insert', arrowUpload, /InsertIntoTable/],
  ['a branch of CI from main', 'ci', 'orders/branches/create', { name: 'ci/8', from_branch: 'main' }],
  [
    'a branch of CI from one that it may not read',
    'ci',
    'orders/branches/create',
    { name: 'ci/8', from_branch: 'release' },
    /QueryTable \(the branch that is copied\)/,
  ],
  ['a commit with a ticket', 'stager', 'orders/version/create', { ...commit, ...ticket }],
  ['no ticket', 'stager', 'orders/version/create', commit, /CreateTableVersion/],
  [
    'a manifest outside of the folder',
    'stager',
    'orders/version/create',
    { ...ticket, version: 2, manifest_path: 'warehouse/lake2/orders/_versions/staging' },
    /CreateTableVersion/,
  ],
  ['a location in the folder', 'clerk', 'new/register', { location: 'warehouse/lake/new.lance' }],
  ['a location outside', 'clerk', 'new/register', { location: 's3://warehouse/lake/new' }, /ChooseLocation/],
  ['a new name that is allowed', 'clerk', 'orders/rename', { new_table_name: 'old_orders' }],
  ['a new name that is not', 'clerk', 'orders/rename', { new_table_name: 'orders2' }, /RenameTable/],
]

it.each(
  rows.map(([what, ...row]) => [what, row[3] === undefined ? 'is allowed' : 'is denied', ...row] as const),
)('%s %s', async (_what, _expected, as, target, body, refused) => {
  const isArrow = body === arrowUpload
  const headers = !isArrow ? {} : { 'content-type': 'application/vnd.apache.arrow.stream' }
  const response = await shared.gateway.post(`/v1/table/lake$${target}`, { as, body, headers })
  if (refused === undefined) {
    expect(response).toMatchObject({ status: 200 })
    expect(shared.upstream.requests).toHaveLength(1)
  } else {
    expectError(response, { kind: 'PermissionDenied', says: refused })
    expect(shared.upstream.requests).toEqual([])
  }
})

it('denies before the body is read if no body could change the decision', async () => {
  const response = await shared.gateway.post('/v1/table/lake$orders/drop_columns', {
    as: 'ci',
    body: Readable.from(unfinished()),
    headers: { 'content-type': 'application/json' },
  })
  expect(response).toMatchObject({ status: 403 })
})

it('reads a large body completely if a condition depends on it', async () => {
  const context = { padding: 'x'.repeat(600 * 1024) }
  const query = { context, branch: 'ci/7' }
  const describe = (body: object) => shared.gateway.post('/v1/table/lake$orders/describe', { as: 'ci', body })
  expect(await describe(query)).toMatchObject({ status: 200 })
  expectError(await describe({ context, branch: 'main' }), {
    kind: 'PermissionDenied',
    says: /DescribeTable/,
  })
  expect(shared.upstream.requests).toHaveLength(1)
})

async function* unfinished(): AsyncGenerator<string> {
  yield '{"branch":'
  await new Promise(() => undefined)
}
