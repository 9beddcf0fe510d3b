import { getKeys } from '../lib/get-keys.ts'
import type { ErrorName } from './catalog-error.ts'
import { parseFactSource, type FactName, type FactSource, type FactSourcePath } from './facts.ts'

export type ObjectKind =
  | 'namespace'
  | 'table'
  | 'transaction'
  | 'materialized_view'
  | 'view'
  | 'function'
  | 'none'

/** Type of a query parameter; only `strings` may be repeated. */
export type ParameterType = 'string' | 'strings' | 'integer' | 'boolean'

/**
 * Form of a request body. `map`: an object whose members are all data of the caller, so none repeats the route. `none`:
 * officially no body, but real clients send a JSON object, which follows the rules of `json`.
 */
type BodyForm = 'json' | 'map' | 'arrow' | 'none'

/** `arrow` is an Arrow IPC file, `arrow-stream` an Arrow IPC stream. */
type ResponseForm = 'json' | 'arrow' | 'arrow-stream' | 'empty'

/** `commit` creates, deletes or restores table versions, directly or by changing data. */
export type Effect = 'read' | 'change' | 'commit'

/**
 * Effect of a success (2xx, not 202) on the versions of the table in the route. `next`: exactly one new version, the
 * newest of its branch at that moment. `restart`: the id may name another dataset with other versions.
 */
type VersionEffect = 'next' | 'restart'

/** What a listing contains. Names of views are in the name space of tables. */
export type Listing = 'namespaces' | 'tables' | 'views' | 'all tables'

/** Group of operations that a policy can name. Every operation and permission is in exactly one. */
export type PermissionGroup =
  | 'browse'
  | 'query'
  | 'write'
  | 'create'
  | 'commit'
  | 'admin'
  | 'drop'
  | 'credentials'

type EntryOperation = 'CreateTableVersion' | 'DeclareTable' | 'BatchDeleteTableVersions' | 'DeregisterTable'

/** Member that lists the entries of a batch, and their operation: one for all, or by the member that holds an entry. */
interface BatchEntries {
  readonly member: string
  readonly operation: EntryOperation | Readonly<Record<string, EntryOperation>>
}

interface OperationDefinition {
  readonly method: 'GET' | 'POST'
  /** Path with `{id}` and `{index_name}` as placeholders. */
  readonly path: `/v1/${string}`
  readonly aliases?: readonly `/v1/${string}`[]
  /** Real clients send GET as well as POST. */
  readonly alsoGet?: true
  /** The text of the interface shows POST, its tables GET. */
  readonly alsoPost?: true
  readonly object: ObjectKind
  readonly query?: Readonly<Record<string, ParameterType>>
  readonly required?: readonly string[]
  /** Query parameters of old clients that are accepted and dropped. */
  readonly droppedQuery?: readonly string[]
  readonly body: BodyForm
  /**
   * Besides JSON, an Arrow stream of a schema without rows is accepted. The content-type alone selects the reader. It
   * states no facts.
   */
  readonly alsoArrowSchema?: true
  /** Facts with all sources of each. Sources of one fact must agree; all of them are set in the upstream request. */
  readonly facts?: { readonly [Name in FactName]?: readonly FactSourcePath[] }
  /** Accepted modes and behaviors. Any other is 400: only the upstream would understand it. */
  readonly modes?: readonly [string, ...string[]]
  readonly behaviors?: readonly [string, ...string[]]
  /** The branch is unknown, always or if the request states this fact: it touches every branch, or that of a tag. */
  readonly unknownBranch?: 'always' | FactName
  readonly entries?: BatchEntries
  /**
   * Contains SQL or code that may read any table: always, or if its body has this member at any depth. Expressions and
   * filters only read the table of the route.
   */
  readonly readsAnyTable?: 'always' | 'virtual_column'
  /** Body members, besides `id` and `context`, that count as absent if they are `{}` or `[]`. */
  readonly emptyIsAbsent?: readonly string[]
  /** The body names a job by `job_id`, and callers that started the job may act on it. */
  readonly namesJob?: true
  /** Parameters and members that an audit record holds besides the facts. */
  readonly recorded?: readonly string[]
  /** Members of the response to a change that are only sent to callers that may describe the object. */
  readonly describes?: readonly string[]
  readonly effect: Effect
  readonly group: PermissionGroup
  readonly status?: 200 | 201 | 202
  /** The response has the status 202 and a `job_id` if a job continues the work. */
  readonly mayStartJob?: true
  readonly response?: ResponseForm
  readonly versions?: VersionEffect
  /** The response lists these objects, so it is filtered by visibility. */
  readonly lists?: Listing
  /** Errors besides those of every operation. */
  readonly errors: readonly ErrorName[]
}

/** Generated clients send both alternatives, one of them empty. */
const queryHalves = [
  'vector.single_vector',
  'vector.multi_vector',
  'columns.column_names',
  'columns.column_aliases',
  'full_text_query.string_query',
  'full_text_query.structured_query',
] as const
const nestedQuery = [
  'query.id',
  'query.context',
  ...queryHalves.map((path) => `query.${path}` as const),
] as const

const paging = { page_token: 'string', limit: 'integer' } as const
const namespaceErrors = ['NamespaceNotFound'] as const
const tableErrors = ['NamespaceNotFound', 'TableNotFound'] as const

/**
 * The operations of the catalog API: the only definition of their paths, methods and properties. Every operation also
 * takes the query parameter `delimiter`.
 */
export const operations = {
  CreateNamespace: {
    method: 'POST',
    path: '/v1/namespace/{id}/create',
    object: 'namespace',
    body: 'json',
    facts: { mode: ['body.mode'], properties: ['body.properties'], location: ['properties.location'] },
    modes: ['Create', 'ExistOk', 'Overwrite'],
    emptyIsAbsent: ['properties'],
    describes: ['properties'],
    effect: 'change',
    group: 'create',
    errors: ['NamespaceNotFound', 'NamespaceAlreadyExists'],
  },
  ListNamespaces: {
    method: 'GET',
    path: '/v1/namespace/{id}/list',
    alsoPost: true,
    object: 'namespace',
    query: paging,
    body: 'none',
    effect: 'read',
    group: 'browse',
    lists: 'namespaces',
    errors: namespaceErrors,
  },
  DescribeNamespace: {
    method: 'POST',
    path: '/v1/namespace/{id}/describe',
    object: 'namespace',
    body: 'json',
    effect: 'read',
    group: 'browse',
    errors: namespaceErrors,
  },
  DropNamespace: {
    method: 'POST',
    path: '/v1/namespace/{id}/drop',
    object: 'namespace',
    body: 'json',
    facts: { mode: ['body.mode'], behavior: ['body.behavior'] },
    modes: ['Fail', 'Skip'],
    behaviors: ['Restrict', 'Cascade'],
    describes: ['properties'],
    effect: 'commit',
    group: 'drop',
    errors: ['NamespaceNotFound', 'NamespaceNotEmpty'],
  },
  NamespaceExists: {
    method: 'POST',
    path: '/v1/namespace/{id}/exists',
    object: 'namespace',
    body: 'json',
    effect: 'read',
    group: 'browse',
    response: 'empty',
    errors: namespaceErrors,
  },
  ListTables: {
    method: 'GET',
    path: '/v1/namespace/{id}/table/list',
    object: 'namespace',
    query: { ...paging, include_declared: 'boolean' },
    body: 'none',
    effect: 'read',
    group: 'browse',
    lists: 'tables',
    errors: namespaceErrors,
  },
  ListAllTables: {
    method: 'GET',
    path: '/v1/table',
    object: 'none',
    query: { ...paging, include_declared: 'boolean' },
    body: 'none',
    effect: 'read',
    group: 'browse',
    lists: 'all tables',
    errors: [],
  },
  RegisterTable: {
    method: 'POST',
    path: '/v1/table/{id}/register',
    object: 'table',
    body: 'json',
    facts: {
      mode: ['body.mode'],
      location: ['body.location', 'properties.location'],
      properties: ['body.properties'],
    },
    modes: ['Create', 'Overwrite'],
    unknownBranch: 'always',
    emptyIsAbsent: ['properties'],
    describes: ['location', 'properties'],
    effect: 'change',
    group: 'admin',
    versions: 'restart',
    errors: ['NamespaceNotFound', 'TableAlreadyExists', 'ConcurrentModification'],
  },
  DescribeTable: {
    method: 'POST',
    path: '/v1/table/{id}/describe',
    object: 'table',
    query: { with_table_uri: 'boolean', load_detailed_metadata: 'boolean', check_declared: 'boolean' },
    body: 'json',
    facts: { branch: ['body.branch'], tag: ['body.tag'], vendCredentials: ['body.vend_credentials'] },
    unknownBranch: 'tag',
    effect: 'read',
    group: 'browse',
    errors: [...tableErrors, 'TableVersionNotFound'],
  },
  TableExists: {
    method: 'POST',
    path: '/v1/table/{id}/exists',
    object: 'table',
    body: 'json',
    effect: 'read',
    group: 'browse',
    response: 'empty',
    errors: tableErrors,
  },
  DropTable: {
    method: 'POST',
    path: '/v1/table/{id}/drop',
    object: 'table',
    body: 'none',
    unknownBranch: 'always',
    describes: ['location', 'properties'],
    effect: 'commit',
    group: 'drop',
    errors: tableErrors,
  },
  DeregisterTable: {
    method: 'POST',
    path: '/v1/table/{id}/deregister',
    object: 'table',
    body: 'json',
    unknownBranch: 'always',
    describes: ['location', 'properties'],
    effect: 'change',
    group: 'drop',
    errors: tableErrors,
  },
  RestoreTable: {
    method: 'POST',
    path: '/v1/table/{id}/restore',
    object: 'table',
    body: 'json',
    facts: { branch: ['body.branch'] },
    recorded: ['version'],
    effect: 'commit',
    group: 'admin',
    versions: 'next',
    errors: [...tableErrors, 'TableVersionNotFound', 'ConcurrentModification'],
  },
  RenameTable: {
    method: 'POST',
    path: '/v1/table/{id}/rename',
    object: 'table',
    body: 'json',
    facts: {
      newNamespace: ['body.new_namespace_id', 'body.new_namespace'],
      newName: ['body.new_table_name'],
    },
    unknownBranch: 'always',
    effect: 'change',
    group: 'admin',
    errors: [...tableErrors, 'TableAlreadyExists', 'ConcurrentModification'],
  },
  UpdateTableSchemaMetadata: {
    method: 'POST',
    path: '/v1/table/{id}/schema_metadata/update',
    object: 'table',
    query: { branch: 'string' },
    body: 'map',
    facts: { branch: ['query.branch', 'body.branch'] },
    describes: ['metadata'],
    effect: 'commit',
    group: 'admin',
    versions: 'next',
    errors: [...tableErrors, 'ConcurrentModification'],
  },
  ListTableVersions: {
    method: 'POST',
    path: '/v1/table/{id}/version/list',
    alsoGet: true,
    object: 'table',
    query: { branch: 'string', ...paging, descending: 'boolean' },
    body: 'none',
    facts: { branch: ['query.branch', 'body.branch'] },
    effect: 'read',
    group: 'browse',
    errors: tableErrors,
  },
  CreateTableVersion: {
    method: 'POST',
    path: '/v1/table/{id}/version/create',
    object: 'table',
    body: 'json',
    facts: { branch: ['body.branch'], manifestPath: ['body.manifest_path'], metadata: ['body.metadata'] },
    recorded: ['version', 'manifest_size', 'e_tag', 'naming_scheme'],
    effect: 'commit',
    group: 'commit',
    versions: 'next',
    errors: [...tableErrors, 'ConcurrentModification'],
  },
  DescribeTableVersion: {
    method: 'POST',
    path: '/v1/table/{id}/version/describe',
    object: 'table',
    body: 'json',
    facts: { branch: ['body.branch'] },
    effect: 'read',
    group: 'browse',
    errors: [...tableErrors, 'TableVersionNotFound'],
  },
  BatchDeleteTableVersions: {
    method: 'POST',
    path: '/v1/table/{id}/version/delete',
    object: 'table',
    body: 'json',
    facts: { branch: ['body.branch'] },
    recorded: ['ranges'],
    effect: 'commit',
    group: 'drop',
    errors: tableErrors,
  },
  BatchCreateTableVersions: {
    method: 'POST',
    path: '/v1/table/version/batch-create',
    object: 'none',
    body: 'json',
    entries: { member: 'entries', operation: 'CreateTableVersion' },
    effect: 'commit',
    group: 'commit',
    errors: [...tableErrors, 'ConcurrentModification'],
  },
  BatchCommitTables: {
    method: 'POST',
    path: '/v1/table/batch-commit',
    object: 'none',
    body: 'json',
    entries: {
      member: 'operations',
      operation: {
        declare_table: 'DeclareTable',
        create_table_version: 'CreateTableVersion',
        delete_table_versions: 'BatchDeleteTableVersions',
        deregister_table: 'DeregisterTable',
      },
    },
    describes: ['location', 'properties'],
    effect: 'commit',
    group: 'commit',
    errors: [...tableErrors, 'TableAlreadyExists', 'ConcurrentModification'],
  },
  AlterTableAlterColumns: {
    method: 'POST',
    path: '/v1/table/{id}/alter_columns',
    object: 'table',
    body: 'json',
    facts: { branch: ['body.branch'] },
    readsAnyTable: 'virtual_column',
    effect: 'commit',
    group: 'admin',
    versions: 'next',
    errors: [...tableErrors, 'TableColumnNotFound', 'ConcurrentModification', 'TableSchemaValidationError'],
  },
  UpdateFieldMetadata: {
    method: 'POST',
    path: '/v1/table/{id}/update_field_metadata',
    object: 'table',
    body: 'json',
    facts: { branch: ['body.branch'] },
    describes: ['fields'],
    effect: 'commit',
    group: 'admin',
    versions: 'next',
    errors: [...tableErrors, 'TableColumnNotFound', 'ConcurrentModification'],
  },
  AlterTableDropColumns: {
    method: 'POST',
    path: '/v1/table/{id}/drop_columns',
    object: 'table',
    body: 'json',
    facts: { branch: ['body.branch'] },
    effect: 'commit',
    group: 'admin',
    versions: 'next',
    errors: [...tableErrors, 'TableColumnNotFound', 'ConcurrentModification'],
  },
  GetTableStats: {
    method: 'POST',
    path: '/v1/table/{id}/stats',
    alsoGet: true,
    object: 'table',
    body: 'json',
    facts: { branch: ['body.branch'] },
    effect: 'read',
    group: 'browse',
    errors: tableErrors,
  },
  InsertIntoTable: {
    method: 'POST',
    path: '/v1/table/{id}/insert',
    object: 'table',
    query: { branch: 'string', mode: 'string' },
    // LanceDB's clients up to 0.16. The id of a request comes from its header only.
    droppedQuery: ['request_id'],
    body: 'arrow',
    facts: { branch: ['query.branch'], mode: ['query.mode'] },
    modes: ['Append', 'Overwrite'],
    effect: 'commit',
    group: 'write',
    versions: 'next',
    errors: [...tableErrors, 'ConcurrentModification', 'InvalidTableState', 'TableSchemaValidationError'],
  },
  MergeInsertIntoTable: {
    method: 'POST',
    path: '/v1/table/{id}/merge_insert',
    object: 'table',
    query: {
      branch: 'string',
      on: 'strings',
      when_matched_update_all: 'boolean',
      when_matched_update_all_filt: 'string',
      when_not_matched_insert_all: 'boolean',
      when_not_matched_by_source_delete: 'boolean',
      when_not_matched_by_source_delete_filt: 'string',
      timeout: 'string',
      use_index: 'boolean',
    },
    required: ['on'],
    body: 'arrow',
    facts: { branch: ['query.branch'], deletesUnmatched: ['query.when_not_matched_by_source_delete'] },
    recorded: ['on', 'when_matched_update_all_filt', 'when_not_matched_by_source_delete_filt'],
    effect: 'commit',
    group: 'write',
    versions: 'next',
    errors: [...tableErrors, 'TableColumnNotFound', 'ConcurrentModification', 'InvalidTableState'],
  },
  UpdateTable: {
    method: 'POST',
    path: '/v1/table/{id}/update',
    object: 'table',
    body: 'json',
    facts: { branch: ['body.branch'], properties: ['body.properties'], location: ['properties.location'] },
    unknownBranch: 'properties',
    recorded: ['predicate'],
    describes: ['properties'],
    effect: 'commit',
    group: 'write',
    versions: 'next',
    errors: [...tableErrors, 'TableColumnNotFound', 'ConcurrentModification', 'InvalidTableState'],
  },
  DeleteFromTable: {
    method: 'POST',
    path: '/v1/table/{id}/delete',
    object: 'table',
    body: 'json',
    facts: { branch: ['body.branch'] },
    recorded: ['predicate'],
    effect: 'commit',
    group: 'write',
    versions: 'next',
    errors: [...tableErrors, 'ConcurrentModification', 'InvalidTableState'],
  },
  QueryTable: {
    method: 'POST',
    path: '/v1/table/{id}/query',
    object: 'table',
    body: 'json',
    facts: { branch: ['body.branch'] },
    emptyIsAbsent: queryHalves,
    effect: 'read',
    group: 'query',
    response: 'arrow',
    errors: [...tableErrors, 'TableVersionNotFound', 'TableColumnNotFound'],
  },
  CountTableRows: {
    method: 'POST',
    path: '/v1/table/{id}/count_rows',
    alsoGet: true,
    object: 'table',
    body: 'json',
    facts: { branch: ['body.branch'] },
    effect: 'read',
    group: 'query',
    errors: [...tableErrors, 'TableVersionNotFound'],
  },
  CreateTable: {
    method: 'POST',
    path: '/v1/table/{id}/create',
    object: 'table',
    query: { mode: 'string', properties: 'string', storage_options: 'string' },
    body: 'arrow',
    facts: {
      mode: ['query.mode'],
      location: ['header.location', 'properties.location'],
      properties: ['query.properties', 'header.properties'],
      storageOptions: ['query.storage_options'],
    },
    modes: ['Create', 'ExistOk', 'Overwrite'],
    describes: ['location', 'properties', 'version'],
    effect: 'commit',
    group: 'create',
    versions: 'restart',
    errors: [
      'NamespaceNotFound',
      'TableAlreadyExists',
      'ConcurrentModification',
      'TableSchemaValidationError',
    ],
  },
  ExplainTableQueryPlan: {
    method: 'POST',
    path: '/v1/table/{id}/explain_plan',
    object: 'table',
    body: 'json',
    facts: { branch: ['body.branch', 'body.query.branch'] },
    emptyIsAbsent: [...queryHalves, ...nestedQuery],
    effect: 'read',
    group: 'query',
    errors: tableErrors,
  },
  AnalyzeTableQueryPlan: {
    method: 'POST',
    path: '/v1/table/{id}/analyze_plan',
    object: 'table',
    query: { distributed_metrics: 'boolean' },
    body: 'json',
    facts: { branch: ['body.branch', 'body.query.branch'] },
    emptyIsAbsent: [...queryHalves, ...nestedQuery],
    effect: 'read',
    group: 'query',
    errors: tableErrors,
  },
  AlterTableAddColumns: {
    method: 'POST',
    path: '/v1/table/{id}/add_columns',
    object: 'table',
    body: 'json',
    alsoArrowSchema: true,
    facts: { branch: ['body.branch'] },
    readsAnyTable: 'virtual_column',
    effect: 'commit',
    group: 'admin',
    versions: 'next',
    errors: [...tableErrors, 'ConcurrentModification', 'TableSchemaValidationError'],
  },
  AlterTableBackfillColumns: {
    method: 'POST',
    path: '/v1/table/{id}/backfill_column',
    object: 'table',
    body: 'json',
    facts: { branch: ['body.branch'] },
    recorded: ['column', 'where'],
    effect: 'commit',
    group: 'admin',
    status: 202,
    errors: [...tableErrors, 'TableColumnNotFound'],
  },
  RefreshMaterializedView: {
    method: 'POST',
    path: '/v1/materialized_view/{id}/refresh',
    object: 'materialized_view',
    body: 'json',
    unknownBranch: 'always',
    recorded: ['src_version', 'source_version'],
    effect: 'commit',
    group: 'admin',
    status: 202,
    errors: tableErrors,
  },
  CreateMaterializedView: {
    method: 'POST',
    path: '/v1/materialized_view/{id}/create',
    object: 'materialized_view',
    body: 'json',
    unknownBranch: 'always',
    readsAnyTable: 'always',
    recorded: ['kind', 'source_query', 'query'],
    effect: 'commit',
    group: 'admin',
    status: 201,
    mayStartJob: true,
    errors: [...tableErrors, 'TableAlreadyExists'],
  },
  CreateTableIndex: {
    method: 'POST',
    path: '/v1/table/{id}/create_index',
    object: 'table',
    body: 'json',
    facts: { branch: ['body.branch'] },
    recorded: ['name'],
    effect: 'commit',
    group: 'admin',
    versions: 'next',
    errors: [...tableErrors, 'TableIndexAlreadyExists', 'TableColumnNotFound', 'ConcurrentModification'],
  },
  CreateTableScalarIndex: {
    method: 'POST',
    path: '/v1/table/{id}/create_scalar_index',
    object: 'table',
    body: 'json',
    facts: { branch: ['body.branch'] },
    recorded: ['name'],
    effect: 'commit',
    group: 'admin',
    versions: 'next',
    errors: [...tableErrors, 'TableIndexAlreadyExists', 'TableColumnNotFound', 'ConcurrentModification'],
  },
  ListTableIndices: {
    method: 'POST',
    path: '/v1/table/{id}/index/list',
    alsoGet: true,
    object: 'table',
    body: 'json',
    facts: { branch: ['body.branch'] },
    effect: 'read',
    group: 'browse',
    errors: tableErrors,
  },
  DescribeTableIndexStats: {
    method: 'POST',
    path: '/v1/table/{id}/index/{index_name}/stats',
    alsoGet: true,
    object: 'table',
    body: 'json',
    facts: { branch: ['body.branch'] },
    effect: 'read',
    group: 'browse',
    errors: [...tableErrors, 'TableIndexNotFound'],
  },
  DropTableIndex: {
    method: 'POST',
    path: '/v1/table/{id}/index/{index_name}/drop',
    object: 'table',
    query: { branch: 'string' },
    body: 'none',
    facts: { branch: ['query.branch', 'body.branch'] },
    effect: 'commit',
    group: 'admin',
    versions: 'next',
    errors: [...tableErrors, 'TableIndexNotFound'],
  },
  ListTableTags: {
    method: 'POST',
    path: '/v1/table/{id}/tags/list',
    alsoGet: true,
    object: 'table',
    query: paging,
    body: 'none',
    effect: 'read',
    group: 'browse',
    errors: tableErrors,
  },
  GetTableTagVersion: {
    method: 'POST',
    path: '/v1/table/{id}/tags/version',
    object: 'table',
    body: 'json',
    facts: { tag: ['body.tag'] },
    unknownBranch: 'always',
    effect: 'read',
    group: 'browse',
    errors: [...tableErrors, 'TableTagNotFound'],
  },
  DeclareTable: {
    method: 'POST',
    path: '/v1/table/{id}/declare',
    aliases: ['/v1/table/{id}/create-empty'],
    object: 'table',
    body: 'json',
    facts: {
      location: ['body.location', 'properties.location'],
      properties: ['body.properties'],
      vendCredentials: ['body.vend_credentials'],
    },
    emptyIsAbsent: ['properties'],
    describes: ['location', 'properties'],
    effect: 'change',
    group: 'create',
    errors: ['NamespaceNotFound', 'TableAlreadyExists', 'ConcurrentModification'],
  },
  CreateTableTag: {
    method: 'POST',
    path: '/v1/table/{id}/tags/create',
    object: 'table',
    body: 'json',
    facts: { tag: ['body.tag'], branch: ['body.branch'] },
    recorded: ['version'],
    effect: 'change',
    group: 'admin',
    errors: [...tableErrors, 'TableTagAlreadyExists', 'TableVersionNotFound', 'ConcurrentModification'],
  },
  DeleteTableTag: {
    method: 'POST',
    path: '/v1/table/{id}/tags/delete',
    object: 'table',
    body: 'json',
    facts: { tag: ['body.tag'] },
    unknownBranch: 'always',
    effect: 'change',
    group: 'admin',
    errors: [...tableErrors, 'TableTagNotFound'],
  },
  UpdateTableTag: {
    method: 'POST',
    path: '/v1/table/{id}/tags/update',
    object: 'table',
    body: 'json',
    facts: { tag: ['body.tag'], branch: ['body.branch'] },
    unknownBranch: 'always',
    recorded: ['version'],
    effect: 'change',
    group: 'admin',
    errors: [...tableErrors, 'TableTagNotFound', 'TableVersionNotFound', 'ConcurrentModification'],
  },
  ListTableBranches: {
    method: 'POST',
    path: '/v1/table/{id}/branches/list',
    alsoGet: true,
    object: 'table',
    query: paging,
    body: 'none',
    effect: 'read',
    group: 'browse',
    errors: tableErrors,
  },
  CreateTableBranch: {
    method: 'POST',
    path: '/v1/table/{id}/branches/create',
    object: 'table',
    body: 'json',
    facts: { branch: ['body.name'], sourceBranch: ['body.from_branch'] },
    recorded: ['from_version'],
    effect: 'change',
    group: 'admin',
    errors: [...tableErrors, 'TableBranchAlreadyExists'],
  },
  DeleteTableBranch: {
    method: 'POST',
    path: '/v1/table/{id}/branches/delete',
    object: 'table',
    body: 'json',
    facts: { branch: ['body.name'] },
    effect: 'change',
    group: 'admin',
    errors: [...tableErrors, 'TableBranchNotFound'],
  },
  DescribeTransaction: {
    method: 'POST',
    path: '/v1/transaction/{id}/describe',
    object: 'transaction',
    body: 'json',
    effect: 'read',
    group: 'browse',
    errors: ['TransactionNotFound'],
  },
  AlterTransaction: {
    method: 'POST',
    path: '/v1/transaction/{id}/alter',
    object: 'transaction',
    body: 'json',
    unknownBranch: 'always',
    describes: ['properties'],
    effect: 'change',
    group: 'admin',
    errors: ['TransactionNotFound', 'ConcurrentModification'],
  },
  // The following are operations of the remote client of LanceDB that the interface does not have.
  DescribeMaterializedView: {
    method: 'POST',
    path: '/v1/materialized_view/{id}/describe',
    object: 'materialized_view',
    body: 'none',
    effect: 'read',
    // The query may name tables that the caller may not see.
    group: 'admin',
    errors: tableErrors,
  },
  DropMaterializedView: {
    method: 'POST',
    path: '/v1/materialized_view/{id}/drop',
    object: 'materialized_view',
    body: 'none',
    unknownBranch: 'always',
    effect: 'commit',
    group: 'drop',
    mayStartJob: true,
    errors: tableErrors,
  },
  ListMaterializedViews: {
    method: 'GET',
    path: '/v1/namespace/{id}/materialized_view/list',
    object: 'namespace',
    query: paging,
    body: 'none',
    effect: 'read',
    group: 'browse',
    lists: 'views',
    errors: namespaceErrors,
  },
  CreateView: {
    method: 'POST',
    path: '/v1/view/{id}/create',
    object: 'view',
    body: 'json',
    unknownBranch: 'always',
    readsAnyTable: 'always',
    recorded: ['query'],
    effect: 'change',
    group: 'admin',
    errors: ['NamespaceNotFound', 'TableAlreadyExists'],
  },
  DescribeView: {
    method: 'POST',
    path: '/v1/view/{id}/describe',
    object: 'view',
    body: 'none',
    effect: 'read',
    group: 'admin',
    errors: tableErrors,
  },
  DropView: {
    method: 'POST',
    path: '/v1/view/{id}/drop',
    object: 'view',
    body: 'none',
    unknownBranch: 'always',
    effect: 'change',
    group: 'drop',
    mayStartJob: true,
    errors: tableErrors,
  },
  ListViews: {
    method: 'GET',
    path: '/v1/namespace/{id}/view/list',
    object: 'namespace',
    query: paging,
    body: 'none',
    effect: 'read',
    group: 'browse',
    lists: 'views',
    errors: namespaceErrors,
  },
  CreateFunction: {
    method: 'POST',
    path: '/v1/function/{id}/create',
    object: 'function',
    body: 'json',
    readsAnyTable: 'always',
    effect: 'change',
    group: 'admin',
    status: 202,
    errors: namespaceErrors,
  },
  DescribeFunction: {
    method: 'POST',
    path: '/v1/function/{id}/describe',
    object: 'function',
    body: 'json',
    effect: 'read',
    group: 'admin',
    // No error of the interface means a missing function.
    errors: tableErrors,
  },
  DropFunction: {
    method: 'POST',
    path: '/v1/function/{id}/drop',
    object: 'function',
    body: 'json',
    recorded: ['version'],
    effect: 'change',
    group: 'admin',
    mayStartJob: true,
    errors: tableErrors,
  },
  // Its response contains code, not only names, so it is not filtered by visibility.
  ListFunctions: {
    method: 'GET',
    path: '/v1/namespace/{id}/function/list',
    object: 'namespace',
    query: { ...paging, include_definition: 'boolean' },
    body: 'none',
    effect: 'read',
    group: 'admin',
    errors: namespaceErrors,
  },
  ListJobs: {
    method: 'POST',
    path: '/v1/jobs/list',
    object: 'none',
    body: 'json',
    effect: 'read',
    group: 'admin',
    errors: [],
  },
  DescribeJob: {
    method: 'POST',
    path: '/v1/jobs/describe',
    object: 'none',
    body: 'json',
    namesJob: true,
    effect: 'read',
    group: 'admin',
    // No error of the interface means a missing job.
    errors: ['TransactionNotFound'],
  },
  CancelJob: {
    method: 'POST',
    path: '/v1/jobs/cancel',
    object: 'none',
    body: 'json',
    namesJob: true,
    recorded: ['job_id'],
    effect: 'change',
    group: 'admin',
    errors: ['TransactionNotFound'],
  },
  QueryJobEvents: {
    method: 'POST',
    path: '/v1/jobs/query_events',
    object: 'none',
    body: 'json',
    namesJob: true,
    effect: 'read',
    group: 'admin',
    response: 'arrow-stream',
    errors: ['TransactionNotFound'],
  },
} as const satisfies Record<string, OperationDefinition>

/** Name of an operation of the catalog API. */
export type OperationName = keyof typeof operations

declare const isExtra: unique symbol
/** Name of an operation that only the settings declare; see extra-operation.ts. */
export type ExtraOperationName = string & { readonly [isExtra]: true }

export type AnyOperationName = OperationName | ExtraOperationName

export interface Operation {
  readonly name: AnyOperationName
  /** The official method. Requests to an upstream have it. */
  readonly method: 'GET' | 'POST'
  /** All accepted methods. */
  readonly methods: readonly ('GET' | 'POST')[]
  readonly path: string
  readonly aliases: readonly string[]
  readonly object: ObjectKind
  readonly query: ReadonlyMap<string, ParameterType>
  readonly required: readonly string[]
  readonly droppedQuery: readonly string[]
  readonly body: BodyForm
  readonly alsoArrowSchema: boolean
  /** Facts with their sources, in the order of the table. */
  readonly facts: readonly (readonly [FactName, readonly FactSource[]])[]
  /** Facts that a request can state in several sources. */
  readonly factsWithSeveralSources: readonly (readonly [FactName, readonly FactSource[]])[]
  readonly modes: readonly string[]
  readonly behaviors: readonly string[]
  readonly unknownBranch: 'always' | FactName | undefined
  readonly entries: BatchEntries | undefined
  readonly readsAnyTable: 'always' | 'virtual_column' | undefined
  readonly emptyIsAbsent: ReadonlySet<string>
  readonly namesJob: boolean
  /** Members of the body of an extra operation that hold the id of a further object, with the permission on it. */
  readonly idMembers: ReadonlyMap<string, OperationName>
  readonly recorded: readonly string[]
  readonly describes: readonly string[]
  /** Members of a JSON body that repeat the route and must equal it. */
  readonly routeMembers: readonly ('id' | 'index_name')[]
  readonly effect: Effect
  /** Undefined for an extra operation that no group covers. */
  readonly group: PermissionGroup | undefined
  readonly status: number
  readonly mayStartJob: boolean
  readonly response: ResponseForm
  readonly versions: VersionEffect | undefined
  readonly lists: Listing | undefined
  readonly errors: readonly ErrorName[]
}

/** An operation of the catalog API. */
export interface BuiltInOperation extends Operation {
  readonly name: OperationName
  readonly group: PermissionGroup
}

const noIdMembers: ReadonlyMap<string, OperationName> = new Map()

function completeOperation(name: OperationName): BuiltInOperation {
  const definition: OperationDefinition = operations[name]
  const facts = parseFacts(definition)
  const routeMembers = (['id', 'index_name'] as const).filter((member) =>
    definition.path.includes(`{${member}}`),
  )
  return {
    name,
    method: definition.method,
    methods: definition.alsoGet || definition.alsoPost ? ['GET', 'POST'] : [definition.method],
    path: definition.path,
    aliases: definition.aliases ?? [],
    object: definition.object,
    query: new Map([['delimiter', 'string'], ...Object.entries(definition.query ?? {})]),
    required: definition.required ?? [],
    droppedQuery: definition.droppedQuery ?? [],
    body: definition.body,
    alsoArrowSchema: definition.alsoArrowSchema ?? false,
    facts,
    factsWithSeveralSources: facts.filter(([, sources]) => sources.filter(isDirectSource).length > 1),
    modes: definition.modes ?? [],
    behaviors: definition.behaviors ?? [],
    unknownBranch: definition.unknownBranch,
    entries: definition.entries,
    readsAnyTable: definition.readsAnyTable,
    emptyIsAbsent: new Set(['id', 'context', ...(definition.emptyIsAbsent ?? [])]),
    namesJob: definition.namesJob ?? false,
    idMembers: noIdMembers,
    recorded: definition.recorded ?? [],
    describes: definition.describes ?? [],
    routeMembers: definition.body === 'json' || definition.body === 'none' ? routeMembers : [],
    effect: definition.effect,
    group: definition.group,
    status: definition.status ?? 200,
    mayStartJob: definition.mayStartJob ?? false,
    response: definition.response ?? 'json',
    versions: definition.versions,
    lists: definition.lists,
    errors: definition.errors,
  }
}

/** A key of the properties is no source of the whole properties fact. */
function isDirectSource(source: FactSource): boolean {
  return source.in !== 'properties'
}

function parseFacts({ facts = {} }: OperationDefinition): Operation['facts'] {
  return getKeys(facts).map((name) => [name, (facts[name] ?? []).map(parseFactSource)])
}

export const operationNames: readonly OperationName[] = getKeys(operations)

const operationsByName = new Map(operationNames.map((name) => [name, completeOperation(name)]))

export function getOperation(name: OperationName): BuiltInOperation {
  const operation = operationsByName.get(name)
  if (operation === undefined) throw new Error(`unknown operation ${name}`)
  return operation
}

/** Finds an operation of the catalog API; undefined for the name of an extra operation. */
export function findOperation(name: AnyOperationName): BuiltInOperation | undefined {
  return isOperationName(name) ? getOperation(name) : undefined
}

export function isOperationName(name: string): name is OperationName {
  return Object.hasOwn(operations, name)
}
