import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { getOperation, operationNames, type OperationName } from '../../src/catalog-api/operations.ts'
import { committer } from '../../src/backend/test/support/staged-manifests.ts'
import { runningBackend } from '../../src/backend/test/support/running-backend.ts'
import { rows } from '../conformance/sample-rows.ts'
import { allowEverything } from '../gateway/support/open-gateway.ts'
import { startGatewayBefore } from '../gateway/support/running-gateway.ts'
import { everyInTheLongForm, isThorough } from '../support/thorough.ts'
import { documentedFacts, unknownBranches } from '../catalog-api/documented-facts.ts'

// The bundled catalog behind a gateway with policies under which CI changes only its branches: once by a deny, once by the
// condition of an allow. Every changing operation is sent in every form that could pass for a change of a branch.

const callers = [
  { as: 'denied', branch: 'ci/denied' },
  { as: 'allowed', branch: 'ci/allowed' },
] as const

type Caller = (typeof callers)[number]

/** Each works on its own table. */
const atATime = 8

const policies = [
  allowEverything,
  {
    name: 'lake',
    namespace: ['lake'],
    onDeny: 403 as const,
    rules: [
      {
        id: 'only-ci',
        effect: 'deny' as const,
        subjects: { everyone: true as const, except: { users: ['allowed', 'dev'] } },
        operations: ['change'],
        when: 'branch != "" && !branch.like("ci/*")',
      },
      { id: 'all', effect: 'allow' as const, subjects: { users: ['denied'] }, operations: ['all'] },
      {
        id: 'on-branches',
        effect: 'allow' as const,
        subjects: { users: ['allowed'] },
        operations: ['all'],
        when: 'branch.like("ci/*")',
      },
    ],
  },
]

interface Form {
  readonly path: string
  readonly body?: object | Buffer
  readonly headers?: Readonly<Record<string, string>>
}

type Tags = Readonly<Record<string, { readonly branch?: string }>>

/** The table and its parts that a change needs. */
interface Subject {
  readonly name: string
  readonly staged: object
}

const otherRows = Buffer.from(rows(9, 100))
const action =
  (path: string, body?: object | Buffer) =>
  ({ name }: Subject): Form => ({
    path: `/v1/table/lake$${name}${path}`,
    ...(body && { body }),
  })
const entry =
  (member: string, more: object) =>
  ({ name }: Subject): Form => ({
    path: '/v1/table/batch-commit',
    body: { operations: [{ [member]: { id: ['lake', name], ...more } }] },
  })
const index = { column: 'id', index_type: 'BTREE', name: 'other' }
const grant = { object: 'table:db:public$t', subject: 'g:ci', privilege: 'SELECT' }
const roleBinding = { subject: 'g:ci', role: 'writer' }
const anotherTag = { tag: 'another', version: 1 }
const ranges = { ranges: [{ start_version: 2, end_version: 3 }] }

/** The forms of every changing operation: each changes the table or its main branch if it is allowed. */
const forms: { readonly [Name in OperationName]?: readonly ((subject: Subject) => Form)[] } = {
  CreateNamespace: [
    ({ name }) => ({ path: `/v1/namespace/lake$of_${name}/create`, body: { mode: 'Overwrite' } }),
  ],
  DropNamespace: [
    ({ name }) => ({ path: `/v1/namespace/lake$of_${name}/drop`, body: { behavior: 'Cascade' } }),
  ],
  CloneTable: [action('/clone', { source_location: 'other.lance', is_shallow: true })],
  RegisterTable: [
    (subject) => action('/register', { location: `other_${subject.name}.lance`, mode: 'Overwrite' })(subject),
  ],
  DropTable: [action('/drop')],
  DeregisterTable: [action('/deregister', {})],
  RestoreTable: [action('/restore', { version: 1 })],
  RenameTable: [action('/rename', { new_table_name: 'renamed' })],
  UpdateTableSchemaMetadata: [
    action('/schema_metadata/update', { owner: 'ci' }),
    action('/schema_metadata/update', { metadata: { owner: 'ci' } }),
  ],
  CreateTableVersion: [(subject) => action('/version/create', subject.staged)(subject)],
  BatchDeleteTableVersions: [action('/version/delete', ranges)],
  BatchCreateTableVersions: [
    ({ name, staged }) => ({
      path: '/v1/table/version/batch-create',
      body: { entries: [{ id: ['lake', name], ...staged }] },
    }),
  ],
  BatchCommitTables: [
    ({ name, staged }) => entry('create_table_version', staged)({ name, staged }),
    entry('delete_table_versions', ranges),
    entry('deregister_table', {}),
  ],
  AlterTableAlterColumns: [action('/alter_columns', { alterations: [{ path: 'name', rename: 'title' }] })],
  UpdateFieldMetadata: [
    action('/update_field_metadata', { updates: [{ path: 'id', metadata: { unit: 'm' } }] }),
  ],
  AlterTableDropColumns: [action('/drop_columns', { columns: ['name'] })],
  InsertIntoTable: [action('/insert', otherRows), action('/insert?mode=overwrite', otherRows)],
  CreateMultipartWrite: [action('/multipart_write/create')],
  CompleteMultipartWrite: [action('/multipart_write/complete?upload_id=x')],
  AbortMultipartWrite: [action('/multipart_write/abort?upload_id=x')],
  MergeInsertIntoTable: [action('/merge_insert?on=id&when_not_matched_by_source_delete=true', otherRows)],
  UpdateTable: [
    action('/update', { updates: [['id', 'id + 1000']] }),
    action('/update', { updates: [['id', 'id + 1']], properties: { owner: 'ci' } }),
  ],
  DeleteFromTable: [action('/delete', { predicate: 'id >= 0' })],
  CreateTable: [action('/create?mode=overwrite', otherRows)],
  AlterTableAddColumns: [action('/add_columns', { new_columns: [{ name: 'one', expression: '1' }] })],
  AlterTableBackfillColumns: [action('/backfill_column', { column: 'name' })],
  CreateMaterializedView: [
    ({ name }) => ({
      path: `/v1/materialized_view/lake$${name}/create`,
      body: { kind: 'query', source_query: 'x', output_schema: '' },
    }),
  ],
  RefreshMaterializedView: [({ name }) => ({ path: `/v1/materialized_view/lake$${name}/refresh`, body: {} })],
  DropMaterializedView: [({ name }) => ({ path: `/v1/materialized_view/lake$${name}/drop`, body: {} })],
  CreateView: [({ name }) => ({ path: `/v1/view/lake$${name}/create`, body: { query: 'SELECT 1' } })],
  DropView: [({ name }) => ({ path: `/v1/view/lake$${name}/drop`, body: {} })],
  CreateFunction: [
    ({ name }) => ({
      path: `/v1/function/lake$${name}/create`,
      body: { artifact: {}, signature: {}, runtime: {} },
    }),
  ],
  DropFunction: [({ name }) => ({ path: `/v1/function/lake$${name}/drop`, body: { version: '1' } })],
  CreateSecret: [({ name }) => ({ path: `/v1/secret/lake$${name}/create`, body: { value: 'x' } })],
  AlterSecret: [({ name }) => ({ path: `/v1/secret/lake$${name}/alter`, body: { value: 'x' } })],
  DropSecret: [({ name }) => ({ path: `/v1/secret/lake$${name}/drop` })],
  CancelJob: [() => ({ path: '/v1/jobs/cancel', body: { job_id: 'x' } })],
  AddGrant: [() => ({ path: '/admin/authz/acl/add', body: grant })],
  DeleteGrant: [() => ({ path: '/admin/authz/acl/delete', body: grant })],
  AddRoleBinding: [() => ({ path: '/admin/authz/role_binding/add', body: roleBinding })],
  DeleteRoleBinding: [() => ({ path: '/admin/authz/role_binding/delete', body: roleBinding })],
  PauseJob: [() => ({ path: '/v1/jobs/pause', body: { job_id: 'x' } })],
  ResumeJob: [() => ({ path: '/v1/jobs/resume', body: { job_id: 'x' } })],
  CreateTableIndex: [action('/create_index', index)],
  CreateTableScalarIndex: [action('/create_scalar_index', index)],
  DropTableIndex: [action('/index/id_idx/drop', {})],
  EnableTableRte: [action('/enable_rte', { sharding: { mode: 'unsharded' } })],
  DisableTableRte: [action('/disable_rte', {})],
  FlushTableRte: [action('/flush_rte', {})],
  CompactTableRte: [action('/compact_rte', {})],
  DeclareTable: [action('/declare', { properties: { owner: 'ci' } })],
  CreateTableTag: [action('/tags/create', { tag: 'new', version: 1 })],
  DeleteTableTag: [action('/tags/delete', { tag: 'old' })],
  UpdateTableTag: [action('/tags/update', { tag: 'old', version: 1 })],
  CherryPickTableBranch: [action('/branches/cherry_pick/', { from_branch: 'release' })],
  CreateTableBranch: [action('/branches/create', { name: 'other' })],
  DeleteTableBranch: [action('/branches/delete', { name: 'release' })],
  AlterTransaction: [
    ({ name }) => ({
      path: `/v1/transaction/lake$${name}$1/alter`,
      body: { actions: [{ setPropertyAction: { key: 'owner', value: 'ci' } }] },
    }),
  ],
}

/**
 * Operations that need a computed column, a view or a job, that the bundled catalog does not implement, or that have no
 * effect on existing or non-empty objects.
 */
const withoutEffect: ReadonlySet<OperationName> = new Set([
  'AlterTableBackfillColumns',
  'CreateMaterializedView',
  'RefreshMaterializedView',
  'DropMaterializedView',
  'CreateView',
  'DropView',
  'CreateFunction',
  'DropFunction',
  'CreateSecret',
  'AlterSecret',
  'DropSecret',
  'CancelJob',
  'AddGrant',
  'DeleteGrant',
  'AddRoleBinding',
  'DeleteRoleBinding',
  'EnableTableRte',
  'DisableTableRte',
  'FlushTableRte',
  'CompactTableRte',
  'CreateMultipartWrite',
  'CompleteMultipartWrite',
  'AbortMultipartWrite',
  'PauseJob',
  'ResumeJob',
  'CloneTable',
  'CherryPickTableBranch',
  'DeclareTable',
  'AlterTransaction',
  'CreateNamespace',
])

/** Operations that need more than a branch: a manifest staged there, a computed column, or multipart writes. */
const notOnBranches: ReadonlySet<OperationName> = new Set([
  'CreateTableVersion',
  'AlterTableBackfillColumns',
  'CreateMultipartWrite',
  'CompleteMultipartWrite',
  'AbortMultipartWrite',
])

/** Returns the form with the branch in every position where a server could read it. */
function placements({ path, body, headers }: Form, branch: string): Form[] {
  const inQuery = `${path}${path.includes('?') ? '&' : '?'}branch=${encodeURIComponent(branch)}`
  const context = { 'x-catalog-ctx-branch': branch }
  const outside: Form[] = [
    { path, ...(body && { body }) },
    { path: inQuery, ...(body && { body }) },
    { path, ...(body && { body }), headers: { ...headers, ...context } },
    { path, ...(body && { body }), headers: { 'x-catalog-table-properties': JSON.stringify({ branch }) } },
  ]
  if (Buffer.isBuffer(body)) return outside
  const members = [
    { branch },
    { query: { branch } },
    { branch, query: { branch } },
    { Branch: branch },
    { name: branch },
    { from_branch: branch },
    { tag: branch },
    { context: { branch } },
    { mode: 'append', behavior: 'restrict', branch },
  ]
  const inside = members.map((more): Form => ({ path, body: { ...body, ...more } }))
  const both = { path: inQuery, body: { ...body, branch } }
  const against = { path: inQuery, body: { ...body, branch: 'main' } }
  return [...outside, ...inside, both, against, ...entriesOf(path, { ...body }, members)]
}

interface Batch {
  readonly entries?: readonly object[] | undefined
  readonly operations?: readonly Readonly<Record<string, object>>[] | undefined
}

/** Moves the members into the entries of a batch. */
function entriesOf(path: string, body: Batch, members: readonly object[]): Form[] {
  const { entries, operations } = body
  return members.flatMap((more) => [
    ...(entries ? [{ path, body: { entries: entries.map((entry) => ({ ...entry, ...more })) } }] : []),
    ...(operations
      ? [
          {
            path,
            body: {
              operations: operations.map((operation) =>
                Object.fromEntries(
                  Object.entries(operation).map(([kind, entry]) => [kind, { ...entry, ...more }]),
                ),
              ),
            },
          },
        ]
      : []),
  ])
}

/** Converts the form to a change of a branch as the interface document defines it; undefined if that is impossible. */
function onBranch(operation: OperationName, { path, body }: Form, branch: string): Form | undefined {
  const [location] = documentedFacts[operation].branch ?? []
  if (location === undefined || unknownBranches[operation] === 'always') return undefined
  if (notOnBranches.has(operation)) return undefined
  // Tags of all branches share one set of names.
  if (operation === 'CreateTableTag')
    return { path, body: { tag: branch.replace('/', '-'), version: 1, branch } }
  if (operation === 'CreateTableBranch') return { path, body: { name: madeBy(branch), from_branch: branch } }
  if (body !== undefined && 'properties' in body) return undefined
  if (location === 'query.branch') {
    return {
      path: `${path}${path.includes('?') ? '&' : '?'}branch=${encodeURIComponent(branch)}`,
      ...(body && { body }),
    }
  }
  return Buffer.isBuffer(body)
    ? undefined
    : { path, body: { ...body, [location.replace('body.', '')]: branch } }
}

function madeBy(branch: string): string {
  return `${branch}-made`
}

const changing = operationNames.filter((name) => getOperation(name).effect !== 'read')

it('has forms for every changing operation', () => {
  expect(Object.keys(forms).toSorted()).toEqual([...changing].toSorted())
})

it('lets CI change only its branches', async () => {
  const catalog = await runningBackend()
  const gateway = await startGatewayBefore(catalog.url(), { users: ['denied', 'allowed'], policies })
  const send = async ({ path, ...parts }: Form, as = 'dev') => {
    const { status, bytes } = await gateway.post(path, { as, ...parts })
    const isJson = /^[{[\d]/.test(String(bytes))
    return { status, bytes, json: isJson ? (JSON.parse(String(bytes)) as unknown) : undefined }
  }
  const good = async (path: string, body?: object | Buffer) => {
    const response = await send({ path, ...(body && { body }) })
    expect(response.status, `${path}: ${String(response.bytes)}`).toBe(200)
    return response.json
  }

  /** Creates a table with two versions, an index, a tag and branches, and a namespace with a table. */
  async function subject(
    operation: OperationName,
    index: number,
    tried: readonly Caller[],
  ): Promise<Subject> {
    const name = `${operation}_${index}`
    const path = `/v1/table/lake$${name}`
    const { location } = (await good(`${path}/create`, Buffer.from(rows(3)))) as { location: string }
    for (const branch of ['release', ...tried.map(({ branch }) => branch)]) {
      await good(`${path}/branches/create`, { name: branch })
    }
    for (const branch of ['main', ...tried.map(({ branch }) => branch)]) {
      await good(`${path}/insert?branch=${encodeURIComponent(branch)}`, Buffer.from(rows(2, 3)))
      await good(`${path}/create_scalar_index`, { column: 'id', index_type: 'BTREE', branch })
    }
    await good(`${path}/tags/create`, { tag: 'old', version: 3 })
    if (operation === 'RegisterTable') {
      await cp(location, join(catalog.dataFolder, 'tables', `other_${name}.lance`), { recursive: true })
    }
    if (getOperation(operation).object === 'namespace') {
      await good(`/v1/namespace/lake$of_${name}/create`, {})
      await good(`/v1/table/lake$of_${name}$t/create`, Buffer.from(rows(1)))
    }
    const commits = getOperation(operation).group === 'commit'
    return { name, staged: commits ? await (await committer(location)).stage() : {} }
  }

  /** Reads everything that a caller can learn about a branch; undefined for main. */
  async function stateOf({ name }: Subject, branch?: string): Promise<unknown> {
    const of = branch === undefined ? {} : { branch }
    const path = `/v1/table/lake$${name}`
    const query = branch === undefined ? '' : `?branch=${encodeURIComponent(branch)}`
    const described = await send({ path: `${path}/describe`, body: { load_detailed_metadata: true, ...of } })
    const versions = await send({ path: `${path}/version/list${query}` })
    const indexes = await send({ path: `${path}/index/list`, body: of })
    const { tags = {} } = (await send({ path: `${path}/tags/list` })).json as { tags?: Tags }
    const count = await send({ path: `${path}/count_rows`, body: of })
    const ofBranch = Object.entries(tags).filter(([, tag]) => tag.branch === branch)
    return [described.json, versions.json, indexes.json, count.json, ofBranch].map(withoutInstance)
  }

  /** Reads the whole table except the branches of CI. */
  async function wholeOf(subject: Subject): Promise<unknown> {
    const branches = ((await send({ path: `/v1/table/lake$${subject.name}/branches/list` })).json ?? {}) as {
      branches?: object
    }
    return {
      main: await stateOf(subject),
      branches: Object.keys(branches.branches ?? {}).filter((name) => !name.startsWith('ci/')),
      beneath: withoutInstance((await send({ path: `/v1/namespace/lake$of_${subject.name}/describe` })).json),
      table: (await send({ path: `/v1/table/lake$of_${subject.name}$t/exists` })).status,
    }
  }

  await good('/v1/namespace/lake/create', {})
  async function errorsOf(operation: OperationName, form: (subject: Subject) => Form, round: number) {
    const errors: string[] = []
    const tried = isThorough ? callers : callers.filter((_, index) => index === round % 2)
    const table = await subject(operation, round, tried)
    const plain = form(table)
    const what = `${operation} ${JSON.stringify(plain.body ?? plain.path).slice(0, 80)}`
    const before = JSON.stringify(await wholeOf(table))
    for (const { as, branch } of tried) {
      const changed = operation === 'CreateTableBranch' ? madeBy(branch) : branch
      const ofBranch = JSON.stringify(await stateOf(table, changed))
      const own = onBranch(operation, plain, branch)
      const made = own && (await send(own, as))
      const isChanged = JSON.stringify(await stateOf(table, changed)) !== ofBranch
      if (isChanged !== (own !== undefined)) errors.push(`${what} of ${branch}: ${String(made?.bytes)}`)
      for (const attempt of placements(plain, branch)) await send(attempt, as)
    }
    const after = JSON.stringify(await wholeOf(table))
    if (after !== before) errors.push(`${what} changed more: ${before} ${after}`)
    // The same request does change the table for a caller without restrictions.
    const { bytes } = await send(operation === 'CreateTableTag' ? { ...plain, body: anotherTag } : plain)
    const isSame = JSON.stringify(await wholeOf(table)) === before
    if (isSame !== withoutEffect.has(operation)) errors.push(`${what} for anybody: ${String(bytes)}`)
    return errors
  }

  const all = changing.flatMap((operation) =>
    everyInTheLongForm(forms[operation] ?? [], 2).map((form) => ({ operation, form })),
  )
  const errors: string[] = []
  for (let first = 0; first < all.length; first += atATime) {
    const some = all.slice(first, first + atATime)
    const found = some.map(({ operation, form }, index) => errorsOf(operation, form, first + index))
    errors.push(...(await Promise.all(found)).flat())
  }
  expect(errors).toEqual([])
})

/** Errors contain the request id, which differs each time. */
function withoutInstance(json: unknown): unknown {
  if (typeof json !== 'object' || json === null) return json
  const { instance: _request, ...rest } = json as Record<string, unknown>
  return rest
}
