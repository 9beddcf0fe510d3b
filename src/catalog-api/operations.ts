import { getKeys } from '../lib/get-keys.ts'
import type { ErrorName } from './catalog-error.ts'
import { parseFactSource, type FactName, type FactSource, type FactSourcePath } from './facts.ts'

/** Everything below these paths belongs to the catalog API. */
export const apiPaths = ['/v1', '/admin/authz'] as const

type ApiPath = (typeof apiPaths)[number]

export type ObjectKind =
  | 'namespace'
  | 'table'
  | 'transaction'
  | 'materialized_view'
  | 'view'
  | 'function'
  | 'secret'
  | 'none'

/** Type of a query parameter; only `strings` may be repeated. An `integer` has 31 bits, a `long` 64, both without a sign. */
export type ParameterType = 'string' | 'strings' | 'integer' | 'long' | 'boolean'

type Method = 'GET' | 'HEAD' | 'POST'

/**
 * Form of a request body. `map`: an object whose members are all data of the caller, so none repeats the route. `none`:
 * officially no body, but real clients send a JSON object, which follows the rules of `json`.
 */
type BodyForm = 'json' | 'map' | 'arrow' | 'none'

/** `arrow` is an Arrow IPC file, `arrow-stream` an Arrow IPC stream, `bytes` a value or a part of it. */
type ResponseForm = 'json' | 'arrow' | 'arrow-stream' | 'bytes' | 'empty'

/** `commit` creates, deletes or restores table versions, directly or by changing data. */
export type Effect = 'read' | 'change' | 'commit'

/**
 * Effect of a success (2xx, not 202) on the versions of the table in the route. `next`: exactly one new version, the
 * newest of its branch at that moment. `restart`: the id may name another dataset with other versions.
 */
type VersionEffect = 'next' | 'restart'

/** What a listing contains. Names of views are in the name space of tables. */
export type Listing = 'namespaces' | 'tables' | 'views' | 'all tables'

/** What callers who may read a part of a table can do with an operation. */
type ReadsPart = 'query' | 'count' | 'description' | 'existence'

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

type ColumnMetadata = 'stored' | 'ignored'

type EntryOperation = 'CreateTableVersion' | 'DeclareTable' | 'BatchDeleteTableVersions' | 'DeregisterTable'

/**
 * Member that lists the entries of a batch, and their operation: one for all, or by the member that holds an entry. Each
 * entry requires the permission of its operation. `results` is the member of the response that lists the created
 * versions in the order of the entries; by the member that holds an entry, if operations differ.
 */
export interface BatchEntries {
  readonly member: string
  readonly operation: EntryOperation | Readonly<Record<string, EntryOperation>>
  readonly results: string
}

/**
 * The object that a permission is required on: the object of the route (`itself`), everything beneath it, the branch of
 * it that `from_branch` names, the new id of a rename, the root, or an object that the body refers to.
 */
export type RequirementTarget =
  | 'itself'
  | 'beneath'
  | 'source branch'
  | 'destination'
  | 'root'
  | BodyReference
  | IdMember

/** Part of a path: each element of a list. */
export const everyElement = '[]'

/**
 * References `{name, namespace_path}` in the body: at a path in each outermost member of this name, at any depth. A
 * reference that names no object requires `unresolved` on the root.
 */
export interface BodyReference {
  readonly member: string
  readonly path: readonly string[]
  readonly unresolved: string
}

/** A member of the body of an extra operation that holds the id of a further object. */
interface IdMember {
  readonly idMember: string
}

/**
 * When a permission is required: if the request states a fact (with this value; a flag if it is true), if it has this
 * query parameter, if its body has this member at any depth, and not null, or if it writes columns whose values can
 * refer to other objects.
 */
export type RequirementCondition =
  | { readonly fact: FactName; readonly is?: string }
  | { readonly parameter: string }
  | { readonly member: string }
  | { readonly columns: 'that refer to objects' }

/** A permission that a request requires besides that of its operation. */
export interface RequirementDefinition {
  /** An operation or an effect. That it exists is checked when requirements.ts is loaded. */
  readonly permission: string
  /** Default: `itself`. */
  readonly on?: RequirementTarget
  /** Default: always. */
  readonly when?: RequirementCondition
  /** The part of the request that requires it, for messages. */
  readonly requiredBy: string
}

/** The query parameter, and the member of the response to its beginning, that names a multipart write. */
export const uploadIdName = 'upload_id'

/** Whether policies of delegated namespaces may allow the operations of a group. */
const delegatedGroups = {
  browse: true,
  query: true,
  write: true,
  create: true,
  drop: true,
  credentials: false,
} as const satisfies { readonly [Group in PermissionGroup]?: boolean }

/**
 * The group (undefined if policies must name the operation), and whether policies of delegated namespaces may allow it:
 * its effects must stay in the namespace. If the group does not decide that, the entry does. Not delegated: what attaches
 * storage of others, hands out credentials, or runs SQL or code that can read any table; and jobs, which are decided at
 * the root. A batch is decided by its entries.
 */
type Delegation =
  | { readonly group: keyof typeof delegatedGroups; readonly delegated?: never }
  | {
      readonly group: Exclude<PermissionGroup, keyof typeof delegatedGroups> | undefined
      readonly delegated: boolean
    }

type OperationDefinition = OperationProperties & Delegation

interface OperationProperties {
  /** Shown in the OpenAPI document. */
  readonly summary: string
  readonly method: 'GET' | 'POST'
  /** Path with the placeholders `{id}`, `{index_name}`, `{column}` and `{row_id}`, below one of `apiPaths`. */
  readonly path: `${ApiPath}/${string}`
  readonly aliases?: readonly `${ApiPath}/${string}`[]
  /** A request by an alias is forwarded by that alias: the response to it has other members. */
  readonly forwardsAliases?: true
  /** Real clients send GET as well as POST. */
  readonly alsoGet?: true
  /** The text of the interface shows POST, its tables GET. */
  readonly alsoPost?: true
  /** HEAD is forwarded as HEAD: its response has the headers of the one to GET. */
  readonly alsoHead?: true
  /** Request headers that upstreams receive besides those of every operation. */
  readonly requestHeaders?: readonly string[]
  /** Response headers that callers receive besides those of every operation. */
  readonly responseHeaders?: readonly string[]
  readonly object: ObjectKind
  readonly query?: Readonly<Record<string, ParameterType>>
  readonly required?: readonly string[]
  /** Query parameters of old clients that are accepted and dropped. */
  readonly droppedQuery?: readonly string[]
  readonly body: BodyForm
  /**
   * Besides JSON, an Arrow stream of a schema without rows is accepted. The content-type alone selects the reader. The
   * stream itself states no facts.
   */
  readonly alsoArrowSchema?: true
  /**
   * The request sends metadata of a schema or of columns, which the table gets (`stored`), or which has no effect unless
   * the mode is overwrite (`ignored`): clients send rows with the metadata of the table.
   */
  readonly columnMetadata?: ColumnMetadata
  /** Facts with all sources of each. Sources of one fact must agree; all of them are set in the upstream request. */
  readonly facts?: { readonly [Name in FactName]?: readonly FactSourcePath[] }
  /** Accepted modes and behaviors. Any other is 400: only the upstream would understand it. */
  readonly modes?: readonly [string, ...string[]]
  readonly behaviors?: readonly [string, ...string[]]
  /** The branch is unknown, always or if the request states this fact: it touches every branch, or that of a tag. */
  readonly unknownBranch?: 'always' | FactName
  readonly entries?: BatchEntries
  /** Permissions required besides that of the operation, in the order in which they are decided. */
  readonly requires?: readonly RequirementDefinition[]
  /** Facts without which a request is refused. */
  readonly requiredFacts?: readonly ('manifestPath' | 'newName')[]
  /** The response may contain storage credentials. They are removed from it unless VendCredentials is allowed. */
  readonly vends?: true
  /** Body members, besides `id` and `context`, that count as absent if they are `{}` or `[]`. */
  readonly emptyIsAbsent?: readonly string[]
  /** The members of the object `query` may also stand at the top of the body. */
  readonly alsoFlat?: true
  /** Flags that clients repeat in the body with the defaults of their model: true in the query takes precedence. */
  readonly defaultedFlags?: readonly string[]
  /** The body names a job by `job_id`, and callers that started the job may act on it. */
  readonly namesJob?: true
  /** The body may hold a secret, which the text of an error of the upstream may repeat. */
  readonly holdsSecret?: true
  /** The body may select records of the object of the route by the `job_id` that the caller got. */
  readonly selectsJob?: true
  /**
   * The operation `begins` a multipart write, whose id is the member `upload_id` of the response; it `names` one by the
   * query parameter `upload_id`; or it `mayName` one: such a request uploads a part, which creates no version. Only the
   * caller that began a multipart write may name it.
   */
  readonly multipart?: 'begins' | 'names' | 'mayName'
  /** Parameters and members that an audit record holds besides the facts. */
  readonly recorded?: readonly string[]
  /** Members of the response to a change that are only sent to callers that may describe the object. */
  readonly describes?: readonly string[]
  readonly effect: Effect
  readonly status?: 200 | 201 | 202
  /** With this status, too, the response may be a result: that the operation had no effect, and why. */
  readonly statusWithoutEffect?: 409
  /** The response has the status 202 and a `job_id` if a job continues the work. */
  readonly mayStartJob?: true
  readonly response?: ResponseForm
  readonly versions?: VersionEffect
  /** Its member `version` is the version that it creates. */
  readonly statesVersion?: true
  /** It creates its object, so a refusal can only reveal the namespace. */
  readonly creates?: true
  /** Callers that are allowed it on an object of these kinds may know that the object exists. */
  readonly reveals?: readonly ObjectKind[]
  /** It describes objects of these kinds, so it reveals them, and callers that are allowed it see them in listings. */
  readonly describesKinds?: readonly ObjectKind[]
  /**
   * The response `lists` the tags or branches of the table, or errors may contain `names` of others, because tags and
   * branches retain what the operation changes. Errors of operations with the fact `tag` may, too.
   */
  readonly references?: 'lists' | 'names'
  /**
   * How callers who may read a part of a table can use the operation on it: by a query or a count that is restricted to the
   * part, by a description without the rest, or as it is, since it says nothing of rows and columns. All others are denied to
   * them.
   */
  readonly readsPart?: ReadsPart
  /** The response lists these objects, so it is filtered by visibility. */
  readonly lists?: Listing
  /** Afterwards the object has no longer its name. Operations that remove names of one space count as one in denies. */
  readonly removesName?: true
  /** Afterwards the content of the table has, or may be given, another name, branch or version. */
  readonly moves?: true
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

/** Kinds with the names and the rules of tables. */
const tableKinds = ['table', 'materialized_view', 'view'] as const

const overwriteTable = {
  permission: 'OverwriteTable',
  when: { fact: 'mode', is: 'overwrite' },
  requiredBy: 'mode=overwrite',
} as const
const chooseLocation = {
  permission: 'ChooseLocation',
  when: { fact: 'location' },
  requiredBy: 'a location',
} as const
const chooseStorage = {
  permission: 'ChooseStorage',
  when: { fact: 'storageOptions' },
  requiredBy: 'storage_options',
} as const
/** What writes columns whose values can refer to other objects requires. */
export const referenceData = {
  permission: 'ReferenceData',
  when: { columns: 'that refer to objects' },
  requiredBy: 'columns that refer to other objects',
} as const
const vendCredentials = {
  permission: 'VendCredentials',
  when: { fact: 'vendCredentials' },
  requiredBy: 'vend_credentials',
} as const

/**
 * SQL or code: the tables that it reads are unknown before it runs, and allowing it in one namespace would open all
 * others. Expressions and filters only read the table of the route.
 */
const readAnyTable = { permission: 'ReadAnyTable', on: 'root', requiredBy: 'what it reads' } as const

function readAnyTableIf(member: string): RequirementDefinition {
  return { permission: 'ReadAnyTable', on: 'root', when: { member }, requiredBy: member }
}

/** Every step of a multipart write requires what inserting rows at once requires. */
const insertRows = { permission: 'InsertIntoTable', requiredBy: 'a multipart write' } as const

const readSourceBranch = {
  permission: 'QueryTable',
  on: 'source branch',
  requiredBy: 'from_branch',
} as const

/** What gives values of rows requires it, so that a deny of queries protects them. */
const queryTable = { permission: 'QueryTable', requiredBy: 'values of rows' } as const

/**
 * A dataset by its location, which the server reads with its own credential: like data that refers to other objects, and
 * like SQL that reads a table which no policy can resolve.
 */
const readSource = [
  { permission: 'ReferenceData', when: { parameter: 'source_uri' }, requiredBy: 'source_uri' },
  { permission: 'ReadAnyTable', on: 'root', when: { parameter: 'source_uri' }, requiredBy: 'source_uri' },
] as const

const useFunction = {
  permission: 'UseFunction',
  on: { member: 'function', path: ['application', 'function'], unresolved: 'ReadAnyTable' },
  requiredBy: 'the function that the body refers to',
} as const
const useSecrets = {
  permission: 'UseSecret',
  on: { member: 'secret_bindings', path: [everyElement, 'secret_ref'], unresolved: 'ReadAnyTable' },
  requiredBy: 'a secret that the body refers to',
} as const

/** Operations that drop one object each, of all kinds. */
const dropOperations = [
  'DropTable',
  'DropMaterializedView',
  'DropView',
  'DropFunction',
  'DropSecret',
  'DropNamespace',
] as const

/** What removes everything beneath a namespace requires all drops there: the kinds of the objects are unknown. */
function dropBeneathIf(fact: FactName, is: string, requiredBy: string): readonly RequirementDefinition[] {
  const when = { fact, is }
  return dropOperations.map((permission) => ({ permission, on: 'beneath', when, requiredBy }))
}

const paging = { page_token: 'string', limit: 'integer' } as const
const namespaceErrors = ['NamespaceNotFound'] as const
const tableErrors = ['NamespaceNotFound', 'TableNotFound'] as const

/**
 * The operations of the catalog API: the only definition of their paths, methods and properties. Every operation also
 * takes the query parameter `delimiter`.
 */
export const operations = {
  CreateNamespace: {
    summary: 'Creates a namespace',
    method: 'POST',
    path: '/v1/namespace/{id}/create',
    object: 'namespace',
    body: 'json',
    facts: { mode: ['body.mode'], properties: ['body.properties'], location: ['properties.location'] },
    modes: ['Create', 'ExistOk', 'Overwrite'],
    emptyIsAbsent: ['properties'],
    describes: ['properties'],
    requires: [...dropBeneathIf('mode', 'overwrite', 'mode Overwrite'), chooseLocation],
    effect: 'change',
    group: 'create',
    creates: true,
    errors: ['NamespaceNotFound', 'NamespaceAlreadyExists'],
  },
  ListNamespaces: {
    summary: 'Lists the namespaces of a namespace',
    method: 'GET',
    path: '/v1/namespace/{id}/list',
    alsoPost: true,
    object: 'namespace',
    query: paging,
    body: 'none',
    effect: 'read',
    group: 'browse',
    lists: 'namespaces',
    reveals: ['namespace'],
    errors: namespaceErrors,
  },
  DescribeNamespace: {
    summary: 'Describes a namespace',
    method: 'POST',
    path: '/v1/namespace/{id}/describe',
    object: 'namespace',
    body: 'json',
    effect: 'read',
    group: 'browse',
    describesKinds: ['namespace', 'none'],
    errors: namespaceErrors,
  },
  DropNamespace: {
    summary: 'Drops a namespace',
    method: 'POST',
    path: '/v1/namespace/{id}/drop',
    object: 'namespace',
    body: 'json',
    facts: { mode: ['body.mode'], behavior: ['body.behavior'] },
    modes: ['Fail', 'Skip'],
    behaviors: ['Restrict', 'Cascade'],
    describes: ['properties'],
    requires: dropBeneathIf('behavior', 'cascade', 'behavior Cascade'),
    effect: 'commit',
    group: 'drop',
    removesName: true,
    errors: ['NamespaceNotFound', 'NamespaceNotEmpty'],
  },
  NamespaceExists: {
    summary: 'Checks whether a namespace exists',
    method: 'POST',
    path: '/v1/namespace/{id}/exists',
    object: 'namespace',
    body: 'json',
    effect: 'read',
    group: 'browse',
    response: 'empty',
    reveals: ['namespace'],
    errors: namespaceErrors,
  },
  ListTables: {
    summary: 'Lists the tables of a namespace',
    method: 'GET',
    path: '/v1/namespace/{id}/table/list',
    object: 'namespace',
    query: { ...paging, include_declared: 'boolean' },
    body: 'none',
    effect: 'read',
    group: 'browse',
    lists: 'tables',
    reveals: ['namespace', ...tableKinds],
    errors: namespaceErrors,
  },
  ListAllTables: {
    summary: 'Lists the tables of all namespaces',
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
    summary: 'Registers a table that exists in storage',
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
    requires: [overwriteTable, { permission: 'ChooseLocation', requiredBy: 'a location' }],
    effect: 'change',
    group: 'admin',
    delegated: false,
    versions: 'restart',
    creates: true,
    errors: ['NamespaceNotFound', 'TableAlreadyExists', 'ConcurrentModification'],
  },
  CloneTable: {
    summary: 'Creates a table from the dataset at a location',
    method: 'POST',
    path: '/v1/table/{id}/clone',
    object: 'table',
    body: 'json',
    unknownBranch: 'always',
    recorded: ['source_location', 'source_version', 'source_tag', 'is_shallow'],
    // The source may be any dataset that the upstream can read: no id says which table it is, if it is one.
    requires: [readAnyTable, { permission: 'ChooseLocation', requiredBy: 'source_location' }],
    effect: 'commit',
    group: 'admin',
    delegated: false,
    versions: 'restart',
    creates: true,
    errors: [
      'NamespaceNotFound',
      'TableNotFound',
      'TableAlreadyExists',
      'TableVersionNotFound',
      'TableTagNotFound',
      'ConcurrentModification',
    ],
  },
  DescribeTable: {
    summary: 'Describes a table',
    method: 'POST',
    path: '/v1/table/{id}/describe',
    object: 'table',
    query: { with_table_uri: 'boolean', load_detailed_metadata: 'boolean', check_declared: 'boolean' },
    body: 'json',
    defaultedFlags: ['with_table_uri', 'load_detailed_metadata', 'check_declared'],
    facts: { branch: ['body.branch'], tag: ['body.tag'], vendCredentials: ['body.vend_credentials'] },
    unknownBranch: 'tag',
    requires: [vendCredentials],
    vends: true,
    readsPart: 'description',
    effect: 'read',
    group: 'browse',
    describesKinds: tableKinds,
    errors: [...tableErrors, 'TableVersionNotFound'],
  },
  TableExists: {
    summary: 'Checks whether a table exists',
    method: 'POST',
    path: '/v1/table/{id}/exists',
    object: 'table',
    body: 'json',
    readsPart: 'existence',
    effect: 'read',
    group: 'browse',
    response: 'empty',
    reveals: tableKinds,
    errors: tableErrors,
  },
  DropTable: {
    summary: 'Drops a table with its data',
    method: 'POST',
    path: '/v1/table/{id}/drop',
    object: 'table',
    body: 'none',
    unknownBranch: 'always',
    describes: ['location', 'properties'],
    effect: 'commit',
    group: 'drop',
    removesName: true,
    mayStartJob: true,
    errors: tableErrors,
  },
  DeregisterTable: {
    summary: 'Removes a table from the catalog and keeps its data',
    method: 'POST',
    path: '/v1/table/{id}/deregister',
    object: 'table',
    body: 'json',
    unknownBranch: 'always',
    describes: ['location', 'properties'],
    effect: 'change',
    group: 'drop',
    removesName: true,
    moves: true,
    errors: tableErrors,
  },
  RestoreTable: {
    summary: 'Restores an older version of a table',
    method: 'POST',
    path: '/v1/table/{id}/restore',
    object: 'table',
    body: 'json',
    facts: { branch: ['body.branch'] },
    recorded: ['version'],
    effect: 'commit',
    group: 'admin',
    delegated: true,
    moves: true,
    versions: 'next',
    errors: [...tableErrors, 'TableVersionNotFound', 'ConcurrentModification'],
  },
  RenameTable: {
    summary: 'Renames or moves a table',
    method: 'POST',
    path: '/v1/table/{id}/rename',
    object: 'table',
    body: 'json',
    facts: {
      newNamespace: ['body.new_namespace_id', 'body.new_namespace'],
      newName: ['body.new_table_name'],
    },
    unknownBranch: 'always',
    requires: [
      {
        permission: 'CreateTable',
        on: 'destination',
        when: { fact: 'newName' },
        requiredBy: 'the destination',
      },
    ],
    requiredFacts: ['newName'],
    effect: 'change',
    group: 'admin',
    delegated: true,
    removesName: true,
    moves: true,
    errors: [...tableErrors, 'TableAlreadyExists', 'ConcurrentModification'],
  },
  UpdateTableSchemaMetadata: {
    summary: 'Changes the metadata of the schema of a table',
    method: 'POST',
    path: '/v1/table/{id}/schema_metadata/update',
    object: 'table',
    query: { branch: 'string' },
    body: 'map',
    columnMetadata: 'stored',
    facts: { branch: ['query.branch', 'body.branch'] },
    describes: ['metadata'],
    effect: 'commit',
    group: 'admin',
    delegated: true,
    versions: 'next',
    errors: [...tableErrors, 'ConcurrentModification'],
  },
  ListTableVersions: {
    summary: 'Lists the versions of a table',
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
    summary: 'Commits a version of a table',
    method: 'POST',
    path: '/v1/table/{id}/version/create',
    object: 'table',
    body: 'json',
    facts: { branch: ['body.branch'], manifestPath: ['body.manifest_path'], metadata: ['body.metadata'] },
    recorded: ['version', 'manifest_size', 'e_tag', 'naming_scheme'],
    requiredFacts: ['manifestPath'],
    effect: 'commit',
    group: 'commit',
    delegated: false,
    versions: 'next',
    statesVersion: true,
    errors: [...tableErrors, 'ConcurrentModification'],
  },
  DescribeTableVersion: {
    summary: 'Describes a version of a table',
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
    summary: 'Deletes ranges of versions of a table',
    method: 'POST',
    path: '/v1/table/{id}/version/delete',
    object: 'table',
    body: 'json',
    facts: { branch: ['body.branch'] },
    recorded: ['ranges'],
    effect: 'commit',
    group: 'drop',
    references: 'names',
    errors: tableErrors,
  },
  BatchCreateTableVersions: {
    summary: 'Commits versions of several tables at once',
    method: 'POST',
    path: '/v1/table/version/batch-create',
    object: 'none',
    body: 'json',
    entries: { member: 'entries', operation: 'CreateTableVersion', results: 'versions' },
    effect: 'commit',
    group: 'commit',
    delegated: true,
    errors: [...tableErrors, 'ConcurrentModification'],
  },
  BatchCommitTables: {
    summary: 'Commits changes of several tables at once',
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
      results: 'results',
    },
    describes: ['location', 'properties'],
    vends: true,
    effect: 'commit',
    group: 'commit',
    delegated: true,
    errors: [...tableErrors, 'TableAlreadyExists', 'ConcurrentModification'],
  },
  AlterTableAlterColumns: {
    summary: 'Changes columns of a table',
    method: 'POST',
    path: '/v1/table/{id}/alter_columns',
    object: 'table',
    body: 'json',
    columnMetadata: 'stored',
    facts: { branch: ['body.branch'] },
    requires: [readAnyTableIf('virtual_column'), referenceData],
    effect: 'commit',
    group: 'admin',
    delegated: true,
    versions: 'next',
    errors: [...tableErrors, 'TableColumnNotFound', 'ConcurrentModification', 'TableSchemaValidationError'],
  },
  UpdateFieldMetadata: {
    summary: 'Changes the metadata of columns of a table',
    method: 'POST',
    path: '/v1/table/{id}/update_field_metadata',
    object: 'table',
    body: 'json',
    columnMetadata: 'stored',
    requires: [referenceData],
    facts: { branch: ['body.branch'] },
    describes: ['fields'],
    effect: 'commit',
    group: 'admin',
    delegated: true,
    versions: 'next',
    errors: [...tableErrors, 'TableColumnNotFound', 'ConcurrentModification'],
  },
  AlterTableDropColumns: {
    summary: 'Drops columns of a table',
    method: 'POST',
    path: '/v1/table/{id}/drop_columns',
    object: 'table',
    body: 'json',
    facts: { branch: ['body.branch'] },
    effect: 'commit',
    group: 'admin',
    delegated: true,
    versions: 'next',
    errors: [...tableErrors, 'TableColumnNotFound', 'ConcurrentModification'],
  },
  GetTableStats: {
    summary: 'Returns statistics of a table',
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
    summary: 'Inserts rows into a table',
    method: 'POST',
    path: '/v1/table/{id}/insert',
    object: 'table',
    query: { branch: 'string', mode: 'string', upload_id: 'string', upload_part_id: 'string' },
    // LanceDB's clients up to 0.16. The id of a request comes from its header only.
    droppedQuery: ['request_id'],
    body: 'arrow',
    columnMetadata: 'ignored',
    facts: { branch: ['query.branch'], mode: ['query.mode'] },
    modes: ['Append', 'Overwrite'],
    multipart: 'mayName',
    recorded: ['upload_id', 'upload_part_id'],
    requires: [overwriteTable, referenceData],
    effect: 'commit',
    group: 'write',
    versions: 'next',
    errors: [...tableErrors, 'ConcurrentModification', 'InvalidTableState', 'TableSchemaValidationError'],
  },
  // The parts state the mode. The rows of all of them become visible when the write is completed.
  CreateMultipartWrite: {
    summary: 'Begins an insert in several parts',
    method: 'POST',
    path: '/v1/table/{id}/multipart_write/create',
    object: 'table',
    query: { branch: 'string' },
    body: 'none',
    facts: { branch: ['query.branch', 'body.branch'] },
    multipart: 'begins',
    requires: [insertRows],
    effect: 'change',
    group: 'write',
    errors: tableErrors,
  },
  CompleteMultipartWrite: {
    summary: 'Inserts the rows of all parts',
    method: 'POST',
    path: '/v1/table/{id}/multipart_write/complete',
    object: 'table',
    query: { branch: 'string', upload_id: 'string' },
    required: ['upload_id'],
    body: 'none',
    facts: { branch: ['query.branch', 'body.branch'] },
    multipart: 'names',
    recorded: ['upload_id'],
    requires: [insertRows],
    effect: 'commit',
    group: 'write',
    versions: 'next',
    errors: [...tableErrors, 'ConcurrentModification', 'InvalidTableState', 'TableSchemaValidationError'],
  },
  AbortMultipartWrite: {
    summary: 'Discards the parts of an insert',
    method: 'POST',
    path: '/v1/table/{id}/multipart_write/abort',
    object: 'table',
    query: { branch: 'string', upload_id: 'string' },
    required: ['upload_id'],
    body: 'none',
    facts: { branch: ['query.branch', 'body.branch'] },
    multipart: 'names',
    recorded: ['upload_id'],
    requires: [insertRows],
    effect: 'change',
    group: 'write',
    errors: tableErrors,
  },
  MergeInsertIntoTable: {
    summary: 'Updates matching rows of a table and inserts the others',
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
      // Whether the realtime engine writes the rows; LanceDB's clients up to 0.40 call it LSM.
      use_rte: 'boolean',
      use_lsm: 'boolean',
    },
    required: ['on'],
    body: 'arrow',
    columnMetadata: 'ignored',
    facts: { branch: ['query.branch'], deletesUnmatched: ['query.when_not_matched_by_source_delete'] },
    recorded: [
      'on',
      'when_matched_update_all_filt',
      'when_not_matched_by_source_delete_filt',
      'use_rte',
      'use_lsm',
    ],
    requires: [
      {
        permission: 'DeleteFromTable',
        when: { fact: 'deletesUnmatched' },
        requiredBy: 'when_not_matched_by_source_delete',
      },
      {
        permission: 'DeleteFromTable',
        when: { parameter: 'when_not_matched_by_source_delete_filt' },
        requiredBy: 'when_not_matched_by_source_delete_filt',
      },
      referenceData,
    ],
    effect: 'commit',
    group: 'write',
    versions: 'next',
    errors: [...tableErrors, 'TableColumnNotFound', 'ConcurrentModification', 'InvalidTableState'],
  },
  UpdateTable: {
    summary: 'Updates rows of a table',
    method: 'POST',
    path: '/v1/table/{id}/update',
    object: 'table',
    body: 'json',
    facts: { branch: ['body.branch'], properties: ['body.properties'], location: ['properties.location'] },
    unknownBranch: 'properties',
    recorded: ['predicate'],
    describes: ['properties'],
    requires: [
      // A change of the whole table together with one of a branch requires both.
      { permission: 'UpdateTable', when: { fact: 'properties' }, requiredBy: 'its branch' },
      chooseLocation,
    ],
    effect: 'commit',
    group: 'write',
    versions: 'next',
    errors: [...tableErrors, 'TableColumnNotFound', 'ConcurrentModification', 'InvalidTableState'],
  },
  DeleteFromTable: {
    summary: 'Deletes rows of a table',
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
    summary: 'Queries rows of a table',
    method: 'POST',
    path: '/v1/table/{id}/query',
    object: 'table',
    body: 'json',
    facts: { branch: ['body.branch'] },
    emptyIsAbsent: queryHalves,
    readsPart: 'query',
    effect: 'read',
    group: 'query',
    response: 'arrow',
    errors: [...tableErrors, 'TableVersionNotFound', 'TableColumnNotFound'],
  },
  CountTableRows: {
    summary: 'Counts the rows of a table',
    method: 'POST',
    path: '/v1/table/{id}/count_rows',
    alsoGet: true,
    object: 'table',
    body: 'json',
    facts: { branch: ['body.branch'] },
    readsPart: 'count',
    effect: 'read',
    group: 'query',
    errors: [...tableErrors, 'TableVersionNotFound'],
  },
  CreateTable: {
    summary: 'Creates a table with rows',
    method: 'POST',
    path: '/v1/table/{id}/create',
    object: 'table',
    query: { mode: 'string', properties: 'string', storage_options: 'string' },
    body: 'arrow',
    columnMetadata: 'stored',
    facts: {
      mode: ['query.mode'],
      location: ['header.location', 'properties.location'],
      properties: ['query.properties', 'header.properties'],
      storageOptions: ['query.storage_options'],
    },
    modes: ['Create', 'ExistOk', 'Overwrite'],
    describes: ['location', 'properties', 'version'],
    requires: [overwriteTable, chooseLocation, chooseStorage, referenceData],
    vends: true,
    effect: 'commit',
    group: 'create',
    versions: 'restart',
    creates: true,
    errors: [
      'NamespaceNotFound',
      'TableAlreadyExists',
      'ConcurrentModification',
      'TableSchemaValidationError',
    ],
  },
  // Policies that allow QueryTable alone do not allow blobs, which are larger than rows by orders of magnitude.
  FetchTableBlobs: {
    summary: 'Returns values of a blob column of a table',
    method: 'POST',
    path: '/v1/table/{id}/fetch_blobs',
    object: 'table',
    body: 'json',
    facts: { branch: ['body.branch'] },
    recorded: ['column', 'row_ids', 'version'],
    requires: [queryTable],
    effect: 'read',
    group: 'query',
    response: 'arrow-stream',
    errors: [...tableErrors, 'TableVersionNotFound', 'TableColumnNotFound'],
  },
  GetTableBlob: {
    summary: 'Returns a value of a blob column of a table, or a part of it',
    method: 'GET',
    path: '/v1/table/{id}/blob/{column}/{row_id}/bytes',
    alsoHead: true,
    object: 'table',
    query: {
      version: 'long',
      branch: 'string',
      // The dataset that the value is read from, with the time of its version; `version` and `branch` are its own then.
      source_uri: 'string',
      source_commit_micros: 'long',
      row_is_address: 'boolean',
    },
    body: 'none',
    facts: { branch: ['query.branch'] },
    recorded: ['source_uri', 'version'],
    requires: [queryTable, ...readSource],
    requestHeaders: ['if-none-match', 'if-range', 'range'],
    responseHeaders: ['accept-ranges', 'content-range', 'etag', 'last-modified'],
    effect: 'read',
    group: 'query',
    response: 'bytes',
    errors: [...tableErrors, 'TableVersionNotFound', 'TableColumnNotFound'],
  },
  ExplainTableQueryPlan: {
    summary: 'Explains how a query would be executed',
    method: 'POST',
    path: '/v1/table/{id}/explain_plan',
    object: 'table',
    body: 'json',
    facts: { branch: ['body.branch', 'body.query.branch'] },
    alsoFlat: true,
    emptyIsAbsent: [...queryHalves, ...nestedQuery],
    effect: 'read',
    group: 'query',
    errors: tableErrors,
  },
  AnalyzeTableQueryPlan: {
    summary: 'Executes a query and explains how',
    method: 'POST',
    path: '/v1/table/{id}/analyze_plan',
    object: 'table',
    // `aggregate`, `per_worker` or `full`.
    query: { distributed_metrics: 'string' },
    body: 'json',
    facts: { branch: ['body.branch', 'body.query.branch'] },
    alsoFlat: true,
    emptyIsAbsent: [...queryHalves, ...nestedQuery],
    effect: 'read',
    group: 'query',
    errors: tableErrors,
  },
  AlterTableAddColumns: {
    summary: 'Adds columns to a table',
    method: 'POST',
    path: '/v1/table/{id}/add_columns',
    object: 'table',
    // An Arrow schema has no place for it.
    query: { branch: 'string' },
    body: 'json',
    alsoArrowSchema: true,
    columnMetadata: 'stored',
    facts: { branch: ['query.branch', 'body.branch'] },
    requires: [readAnyTableIf('virtual_column'), useFunction, referenceData],
    effect: 'commit',
    group: 'admin',
    delegated: true,
    versions: 'next',
    errors: [...tableErrors, 'ConcurrentModification', 'TableSchemaValidationError'],
  },
  AlterTableBackfillColumns: {
    summary: 'Computes the values of a column of a table',
    method: 'POST',
    path: '/v1/table/{id}/backfill_column',
    object: 'table',
    body: 'json',
    facts: { branch: ['body.branch'] },
    recorded: ['column', 'where'],
    effect: 'commit',
    group: 'admin',
    delegated: false,
    status: 202,
    errors: [...tableErrors, 'TableColumnNotFound'],
  },
  RefreshMaterializedView: {
    summary: 'Refreshes a materialized view',
    method: 'POST',
    path: '/v1/materialized_view/{id}/refresh',
    object: 'materialized_view',
    body: 'json',
    unknownBranch: 'always',
    recorded: ['src_version', 'source_version'],
    effect: 'commit',
    group: 'admin',
    delegated: false,
    status: 202,
    errors: tableErrors,
  },
  CreateMaterializedView: {
    summary: 'Creates a materialized view',
    method: 'POST',
    path: '/v1/materialized_view/{id}/create',
    object: 'materialized_view',
    body: 'json',
    unknownBranch: 'always',
    recorded: ['kind', 'source_query', 'query'],
    requires: [readAnyTable],
    effect: 'commit',
    group: 'admin',
    delegated: false,
    status: 201,
    mayStartJob: true,
    creates: true,
    errors: [...tableErrors, 'TableAlreadyExists'],
  },
  CreateTableIndex: {
    summary: 'Creates an index of a table',
    method: 'POST',
    path: '/v1/table/{id}/create_index',
    object: 'table',
    body: 'json',
    facts: { branch: ['body.branch'] },
    recorded: ['name'],
    effect: 'commit',
    group: 'admin',
    delegated: true,
    versions: 'next',
    mayStartJob: true,
    errors: [...tableErrors, 'TableIndexAlreadyExists', 'TableColumnNotFound', 'ConcurrentModification'],
  },
  CreateTableScalarIndex: {
    summary: 'Creates a scalar index of a table',
    method: 'POST',
    path: '/v1/table/{id}/create_scalar_index',
    object: 'table',
    body: 'json',
    facts: { branch: ['body.branch'] },
    recorded: ['name'],
    effect: 'commit',
    group: 'admin',
    delegated: true,
    versions: 'next',
    mayStartJob: true,
    errors: [...tableErrors, 'TableIndexAlreadyExists', 'TableColumnNotFound', 'ConcurrentModification'],
  },
  ListTableIndices: {
    summary: 'Lists the indexes of a table',
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
    summary: 'Returns statistics of an index of a table',
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
    summary: 'Drops an index of a table',
    method: 'POST',
    path: '/v1/table/{id}/index/{index_name}/drop',
    object: 'table',
    query: { branch: 'string' },
    body: 'none',
    facts: { branch: ['query.branch', 'body.branch'] },
    effect: 'commit',
    group: 'admin',
    delegated: true,
    versions: 'next',
    errors: [...tableErrors, 'TableIndexNotFound'],
  },
  ListTableTags: {
    summary: 'Lists the tags of a table',
    method: 'POST',
    path: '/v1/table/{id}/tags/list',
    alsoGet: true,
    object: 'table',
    query: paging,
    body: 'none',
    effect: 'read',
    group: 'browse',
    references: 'lists',
    errors: tableErrors,
  },
  GetTableTagVersion: {
    summary: 'Returns the version that a tag names',
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
    summary: 'Reserves the location of a table without data',
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
    requires: [chooseLocation, vendCredentials],
    vends: true,
    effect: 'change',
    group: 'create',
    creates: true,
    errors: ['NamespaceNotFound', 'TableAlreadyExists', 'ConcurrentModification'],
  },
  CreateTableTag: {
    summary: 'Creates a tag of a table',
    method: 'POST',
    path: '/v1/table/{id}/tags/create',
    object: 'table',
    body: 'json',
    facts: { tag: ['body.tag'], branch: ['body.branch'] },
    recorded: ['version'],
    effect: 'change',
    group: 'admin',
    delegated: true,
    errors: [...tableErrors, 'TableTagAlreadyExists', 'TableVersionNotFound', 'ConcurrentModification'],
  },
  DeleteTableTag: {
    summary: 'Deletes a tag of a table',
    method: 'POST',
    path: '/v1/table/{id}/tags/delete',
    object: 'table',
    body: 'json',
    facts: { tag: ['body.tag'] },
    unknownBranch: 'always',
    effect: 'change',
    group: 'admin',
    delegated: true,
    errors: [...tableErrors, 'TableTagNotFound'],
  },
  UpdateTableTag: {
    summary: 'Moves a tag of a table to another version',
    method: 'POST',
    path: '/v1/table/{id}/tags/update',
    object: 'table',
    body: 'json',
    facts: { tag: ['body.tag'], branch: ['body.branch'] },
    unknownBranch: 'always',
    recorded: ['version'],
    effect: 'change',
    group: 'admin',
    delegated: true,
    errors: [...tableErrors, 'TableTagNotFound', 'TableVersionNotFound', 'ConcurrentModification'],
  },
  ListTableBranches: {
    summary: 'Lists the branches of a table',
    method: 'POST',
    path: '/v1/table/{id}/branches/list',
    alsoGet: true,
    object: 'table',
    query: paging,
    body: 'none',
    effect: 'read',
    group: 'browse',
    references: 'lists',
    errors: tableErrors,
  },
  CreateTableBranch: {
    summary: 'Creates a branch of a table',
    method: 'POST',
    path: '/v1/table/{id}/branches/create',
    object: 'table',
    body: 'json',
    facts: { branch: ['body.name'], sourceBranch: ['body.from_branch'] },
    recorded: ['from_version'],
    requires: [{ ...readSourceBranch, requiredBy: 'the branch that is copied' }],
    effect: 'change',
    group: 'admin',
    delegated: true,
    references: 'names',
    moves: true,
    errors: [...tableErrors, 'TableBranchAlreadyExists'],
  },
  DeleteTableBranch: {
    summary: 'Deletes a branch of a table',
    method: 'POST',
    path: '/v1/table/{id}/branches/delete',
    object: 'table',
    body: 'json',
    facts: { branch: ['body.name'] },
    effect: 'change',
    group: 'admin',
    delegated: true,
    references: 'names',
    errors: [...tableErrors, 'TableBranchNotFound'],
  },
  DescribeTransaction: {
    summary: 'Describes a transaction',
    method: 'POST',
    path: '/v1/transaction/{id}/describe',
    object: 'transaction',
    body: 'json',
    unknownBranch: 'always',
    effect: 'read',
    group: 'browse',
    describesKinds: ['transaction'],
    errors: ['TransactionNotFound'],
  },
  AlterTransaction: {
    summary: 'Changes a transaction',
    method: 'POST',
    path: '/v1/transaction/{id}/alter',
    object: 'transaction',
    body: 'json',
    unknownBranch: 'always',
    describes: ['properties'],
    effect: 'change',
    group: 'admin',
    delegated: true,
    errors: ['TransactionNotFound', 'ConcurrentModification'],
  },
  // The following are operations of the remote client of LanceDB that the interface does not have.
  PrewarmTableIndex: {
    summary: 'Loads an index of a table into the cache of the server',
    method: 'POST',
    path: '/v1/table/{id}/index/{index_name}/prewarm',
    object: 'table',
    body: 'none',
    unknownBranch: 'always',
    effect: 'read',
    // It displaces what others have in the cache.
    group: 'admin',
    delegated: true,
    errors: [...tableErrors, 'TableIndexNotFound'],
  },
  PrewarmTableData: {
    summary: 'Loads columns of a table into the cache of the server',
    method: 'POST',
    path: '/v1/table/{id}/page_cache/prewarm',
    object: 'table',
    body: 'json',
    unknownBranch: 'always',
    effect: 'read',
    group: 'admin',
    delegated: true,
    errors: [...tableErrors, 'TableColumnNotFound'],
  },
  // The realtime engine (RTE) is a second way of writing, which 0.40 calls LSM: merged rows are in logs of the server, and
  // only compaction commits them. Requests name no branch.
  EnableTableRte: {
    summary: 'Lets the realtime engine write the merged rows of a table',
    method: 'POST',
    path: '/v1/table/{id}/enable_rte',
    aliases: ['/v1/table/{id}/set_lsm_write_spec'],
    forwardsAliases: true,
    object: 'table',
    body: 'json',
    unknownBranch: 'always',
    recorded: ['sharding', 'maintained_indexes', 'writer_config_defaults'],
    effect: 'commit',
    group: 'admin',
    // It configures writers of the server.
    delegated: false,
    errors: [...tableErrors, 'TableColumnNotFound', 'TableIndexNotFound', 'ConcurrentModification'],
  },
  DisableTableRte: {
    summary: 'Ends the writing of the realtime engine',
    method: 'POST',
    path: '/v1/table/{id}/disable_rte',
    aliases: ['/v1/table/{id}/unset_lsm_write_spec'],
    forwardsAliases: true,
    object: 'table',
    body: 'none',
    unknownBranch: 'always',
    effect: 'commit',
    group: 'admin',
    delegated: true,
    errors: [...tableErrors, 'ConcurrentModification'],
  },
  FlushTableRte: {
    summary: 'Lets the realtime engine write its rows from memory to storage',
    method: 'POST',
    path: '/v1/table/{id}/flush_rte',
    aliases: ['/v1/table/{id}/flush_lsm'],
    forwardsAliases: true,
    object: 'table',
    body: 'none',
    unknownBranch: 'always',
    effect: 'change',
    group: 'admin',
    delegated: true,
    status: 202,
    response: 'empty',
    errors: tableErrors,
  },
  CompactTableRte: {
    summary: 'Lets the realtime engine commit its rows to the table',
    method: 'POST',
    path: '/v1/table/{id}/compact_rte',
    aliases: ['/v1/table/{id}/compact_lsm'],
    forwardsAliases: true,
    object: 'table',
    body: 'none',
    unknownBranch: 'always',
    effect: 'commit',
    group: 'admin',
    delegated: true,
    status: 202,
    response: 'empty',
    errors: [...tableErrors, 'ConcurrentModification'],
  },
  GetTableRteStats: {
    summary: 'Returns statistics of the realtime engine about a table',
    method: 'POST',
    path: '/v1/table/{id}/get_rte_stats',
    aliases: ['/v1/table/{id}/get_lsm_stats'],
    forwardsAliases: true,
    object: 'table',
    body: 'json',
    unknownBranch: 'always',
    effect: 'read',
    group: 'admin',
    delegated: true,
    errors: tableErrors,
  },
  GetTableRteSpec: {
    summary: 'Returns how the realtime engine writes a table',
    method: 'POST',
    path: '/v1/table/{id}/get_rte_spec',
    aliases: ['/v1/table/{id}/get_lsm_write_spec'],
    forwardsAliases: true,
    object: 'table',
    body: 'none',
    unknownBranch: 'always',
    effect: 'read',
    group: 'admin',
    delegated: true,
    errors: tableErrors,
  },
  DescribeMaterializedView: {
    summary: 'Describes a materialized view',
    method: 'POST',
    path: '/v1/materialized_view/{id}/describe',
    object: 'materialized_view',
    body: 'none',
    effect: 'read',
    // The query may name tables that the caller may not see.
    group: 'admin',
    delegated: true,
    errors: tableErrors,
  },
  DropMaterializedView: {
    summary: 'Drops a materialized view with its data',
    method: 'POST',
    path: '/v1/materialized_view/{id}/drop',
    object: 'materialized_view',
    body: 'none',
    unknownBranch: 'always',
    effect: 'commit',
    group: 'drop',
    removesName: true,
    mayStartJob: true,
    errors: tableErrors,
  },
  ListMaterializedViews: {
    summary: 'Lists the materialized views of a namespace',
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
    summary: 'Creates a view',
    method: 'POST',
    path: '/v1/view/{id}/create',
    object: 'view',
    body: 'json',
    unknownBranch: 'always',
    recorded: ['query'],
    requires: [readAnyTable],
    effect: 'change',
    group: 'admin',
    delegated: false,
    creates: true,
    errors: ['NamespaceNotFound', 'TableAlreadyExists'],
  },
  DescribeView: {
    summary: 'Describes a view',
    method: 'POST',
    path: '/v1/view/{id}/describe',
    object: 'view',
    body: 'none',
    effect: 'read',
    group: 'admin',
    delegated: true,
    errors: tableErrors,
  },
  DropView: {
    summary: 'Drops a view',
    method: 'POST',
    path: '/v1/view/{id}/drop',
    object: 'view',
    body: 'none',
    unknownBranch: 'always',
    effect: 'change',
    group: 'drop',
    removesName: true,
    mayStartJob: true,
    errors: tableErrors,
  },
  ListViews: {
    summary: 'Lists the views of a namespace',
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
    summary: 'Creates a version of a function',
    method: 'POST',
    path: '/v1/function/{id}/create',
    object: 'function',
    body: 'json',
    requires: [readAnyTable, useSecrets],
    effect: 'change',
    group: 'admin',
    delegated: false,
    status: 202,
    creates: true,
    errors: namespaceErrors,
  },
  DescribeFunction: {
    summary: 'Describes a version of a function',
    method: 'POST',
    path: '/v1/function/{id}/describe',
    object: 'function',
    body: 'json',
    effect: 'read',
    group: 'admin',
    delegated: true,
    describesKinds: ['function'],
    // TableNotFound also means a missing function.
    errors: tableErrors,
  },
  DropFunction: {
    summary: 'Drops a version of a function',
    method: 'POST',
    path: '/v1/function/{id}/drop',
    object: 'function',
    body: 'json',
    recorded: ['version'],
    effect: 'change',
    group: 'drop',
    removesName: true,
    mayStartJob: true,
    errors: tableErrors,
  },
  // Its response contains code, not only names, so it is not filtered by visibility.
  ListFunctions: {
    summary: 'Lists the functions of a namespace',
    method: 'GET',
    path: '/v1/namespace/{id}/function/list',
    object: 'namespace',
    query: { ...paging, include_definition: 'boolean' },
    body: 'none',
    effect: 'read',
    group: 'admin',
    delegated: true,
    errors: namespaceErrors,
  },
  // A secret has no effect outside of its namespace before a function gets it, which UseSecret decides. Names of secrets say
  // what a team is connected to, so they are not in the group browse.
  CreateSecret: {
    summary: 'Creates a secret',
    method: 'POST',
    path: '/v1/secret/{id}/create',
    object: 'secret',
    body: 'json',
    holdsSecret: true,
    effect: 'change',
    group: 'admin',
    delegated: true,
    creates: true,
    errors: [...namespaceErrors, 'TableAlreadyExists'],
  },
  AlterSecret: {
    summary: 'Replaces the value of a secret',
    method: 'POST',
    path: '/v1/secret/{id}/alter',
    object: 'secret',
    body: 'json',
    holdsSecret: true,
    effect: 'change',
    group: 'admin',
    delegated: true,
    errors: tableErrors,
  },
  DescribeSecret: {
    summary: 'Describes a secret without its value',
    method: 'POST',
    path: '/v1/secret/{id}/describe',
    object: 'secret',
    body: 'none',
    effect: 'read',
    group: 'admin',
    delegated: true,
    describesKinds: ['secret'],
    // TableNotFound also means a missing secret.
    errors: tableErrors,
  },
  DropSecret: {
    summary: 'Drops a secret',
    method: 'POST',
    path: '/v1/secret/{id}/drop',
    object: 'secret',
    body: 'none',
    effect: 'change',
    group: 'drop',
    removesName: true,
    errors: tableErrors,
  },
  ListSecrets: {
    summary: 'Lists the secrets of a namespace',
    method: 'GET',
    path: '/v1/namespace/{id}/secret/list',
    object: 'namespace',
    query: paging,
    body: 'none',
    effect: 'read',
    group: 'admin',
    delegated: true,
    errors: namespaceErrors,
  },
  DiffTableBranches: {
    summary: 'Compares a branch of a table with main',
    method: 'POST',
    path: '/v1/table/{id}/branches/diff',
    object: 'table',
    body: 'json',
    facts: { sourceBranch: ['body.from_branch'] },
    requires: [readSourceBranch],
    effect: 'read',
    group: 'query',
    references: 'names',
    errors: [...tableErrors, 'TableBranchNotFound'],
  },
  CherryPickTableBranch: {
    summary: 'Applies the new columns of a branch of a table to main',
    method: 'POST',
    path: '/v1/table/{id}/branches/cherry_pick',
    object: 'table',
    body: 'json',
    facts: { sourceBranch: ['body.from_branch'] },
    // A dry run counts as a commit: an upstream that does not know the member would make one.
    recorded: ['dry_run'],
    describes: ['diff', 'preview'],
    requires: [readSourceBranch],
    effect: 'commit',
    group: 'admin',
    delegated: true,
    statusWithoutEffect: 409,
    references: 'names',
    moves: true,
    errors: [...tableErrors, 'TableBranchNotFound', 'ConcurrentModification'],
  },
  ListFunctionErrors: {
    summary: 'Lists the errors of functions in rows of a table',
    method: 'POST',
    path: '/v1/table/{id}/errors',
    object: 'table',
    body: 'json',
    facts: { branch: ['body.branch'] },
    selectsJob: true,
    requires: [{ ...queryTable, requiredBy: 'messages with values of rows' }],
    effect: 'read',
    // Messages may also quote the code of a function and its secrets.
    group: 'admin',
    delegated: true,
    errors: tableErrors,
  },
  ListJobs: {
    summary: 'Lists jobs',
    method: 'POST',
    path: '/v1/jobs/list',
    object: 'none',
    body: 'json',
    effect: 'read',
    group: 'admin',
    delegated: false,
    errors: [],
  },
  DescribeJob: {
    summary: 'Describes a job',
    method: 'POST',
    path: '/v1/jobs/describe',
    object: 'none',
    body: 'json',
    namesJob: true,
    effect: 'read',
    group: 'admin',
    delegated: false,
    // No error of the interface means a missing job.
    errors: ['TransactionNotFound'],
  },
  CancelJob: {
    summary: 'Cancels a job',
    method: 'POST',
    path: '/v1/jobs/cancel',
    object: 'none',
    body: 'json',
    namesJob: true,
    recorded: ['job_id'],
    effect: 'change',
    group: 'admin',
    delegated: false,
    errors: ['TransactionNotFound'],
  },
  PauseJob: {
    summary: 'Pauses a job',
    method: 'POST',
    path: '/v1/jobs/pause',
    object: 'none',
    body: 'json',
    namesJob: true,
    recorded: ['job_id'],
    effect: 'change',
    group: 'admin',
    delegated: false,
    errors: ['TransactionNotFound'],
  },
  ResumeJob: {
    summary: 'Resumes a job that was paused',
    method: 'POST',
    path: '/v1/jobs/resume',
    object: 'none',
    body: 'json',
    namesJob: true,
    recorded: ['job_id'],
    effect: 'change',
    group: 'admin',
    delegated: false,
    errors: ['TransactionNotFound'],
  },
  QueryJobEvents: {
    summary: 'Queries the events of jobs',
    method: 'POST',
    path: '/v1/jobs/query_events',
    object: 'none',
    body: 'json',
    namesJob: true,
    effect: 'read',
    group: 'admin',
    delegated: false,
    response: 'arrow-stream',
    errors: ['TransactionNotFound'],
  },
  // Grants of the server itself, beside the policies of the gateway: whoever may add one could open every table there.
  // A subject may be an API key.
  ListGrants: {
    summary: 'Lists grants of the server',
    method: 'POST',
    path: '/admin/authz/acl/list',
    object: 'none',
    body: 'json',
    holdsSecret: true,
    effect: 'read',
    group: undefined,
    delegated: false,
    errors: [],
  },
  AddGrant: {
    summary: 'Adds a grant of the server',
    method: 'POST',
    path: '/admin/authz/acl/add',
    object: 'none',
    body: 'json',
    holdsSecret: true,
    recorded: ['object', 'subject', 'privilege'],
    effect: 'change',
    group: undefined,
    delegated: false,
    errors: ['ConcurrentModification'],
  },
  DeleteGrant: {
    summary: 'Deletes a grant of the server',
    method: 'POST',
    path: '/admin/authz/acl/delete',
    object: 'none',
    body: 'json',
    holdsSecret: true,
    recorded: ['object', 'subject', 'privilege'],
    effect: 'change',
    group: undefined,
    delegated: false,
    errors: [],
  },
  ListRoleBindings: {
    summary: 'Lists who has which role of the server',
    method: 'POST',
    path: '/admin/authz/role_binding/list',
    object: 'none',
    body: 'json',
    holdsSecret: true,
    effect: 'read',
    group: undefined,
    delegated: false,
    errors: [],
  },
  AddRoleBinding: {
    summary: 'Gives a role of the server',
    method: 'POST',
    path: '/admin/authz/role_binding/add',
    object: 'none',
    body: 'json',
    holdsSecret: true,
    recorded: ['subject', 'role'],
    effect: 'change',
    group: undefined,
    delegated: false,
    errors: ['ConcurrentModification'],
  },
  DeleteRoleBinding: {
    summary: 'Takes a role of the server away',
    method: 'POST',
    path: '/admin/authz/role_binding/delete',
    object: 'none',
    body: 'json',
    holdsSecret: true,
    recorded: ['subject', 'role'],
    effect: 'change',
    group: undefined,
    delegated: false,
    errors: [],
  },
  DescribePrincipal: {
    summary: 'Describes a principal of the server',
    method: 'POST',
    path: '/admin/authz/principal',
    object: 'none',
    body: 'json',
    holdsSecret: true,
    effect: 'read',
    group: undefined,
    delegated: false,
    errors: [],
  },
  DescribeGroup: {
    summary: 'Describes a group of the server',
    method: 'POST',
    path: '/admin/authz/group',
    object: 'none',
    body: 'json',
    holdsSecret: true,
    effect: 'read',
    group: undefined,
    delegated: false,
    errors: [],
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
  readonly summary: string
  /** The official method. Requests to an upstream have it, except for HEAD. */
  readonly method: 'GET' | 'POST'
  /** All accepted methods. */
  readonly methods: readonly Method[]
  readonly path: string
  readonly aliases: readonly string[]
  readonly forwardsAliases: boolean
  readonly requestHeaders: readonly string[]
  readonly responseHeaders: readonly string[]
  readonly object: ObjectKind
  readonly query: ReadonlyMap<string, ParameterType>
  readonly required: readonly string[]
  readonly droppedQuery: readonly string[]
  readonly body: BodyForm
  readonly alsoArrowSchema: boolean
  readonly columnMetadata: ColumnMetadata | undefined
  /** Facts with their sources, in the order of the table. */
  readonly facts: readonly (readonly [FactName, readonly FactSource[]])[]
  /** Facts that a request can state in several sources. */
  readonly factsWithSeveralSources: readonly (readonly [FactName, readonly FactSource[]])[]
  readonly modes: readonly string[]
  readonly behaviors: readonly string[]
  readonly unknownBranch: 'always' | FactName | undefined
  readonly entries: BatchEntries | undefined
  /** As declared; requirements.ts completes and checks them. */
  readonly requires: readonly RequirementDefinition[]
  readonly requiredFacts: readonly ('manifestPath' | 'newName')[]
  readonly vends: boolean
  readonly emptyIsAbsent: ReadonlySet<string>
  readonly alsoFlat: boolean
  readonly defaultedFlags: readonly string[]
  readonly namesJob: boolean
  readonly holdsSecret: boolean
  readonly selectsJob: boolean
  readonly multipart: 'begins' | 'names' | 'mayName' | undefined
  /** The same operation for a request that uploads a part of a multipart write. */
  readonly part: this | undefined
  /** Further members of the body of an extra operation; those of the catalog API are in its request schema. */
  readonly members: readonly string[]
  readonly recorded: readonly string[]
  readonly describes: readonly string[]
  /** Members of a JSON body that repeat the route and must equal it. */
  readonly routeMembers: readonly ('id' | 'index_name')[]
  readonly effect: Effect
  /** Undefined if policies must name the operation. */
  readonly group: PermissionGroup | undefined
  readonly isDelegated: boolean
  readonly status: number
  readonly statusWithoutEffect: number | undefined
  readonly mayStartJob: boolean
  readonly response: ResponseForm
  readonly versions: VersionEffect | undefined
  readonly statesVersion: boolean
  readonly creates: boolean
  readonly reveals: readonly ObjectKind[]
  readonly describesKinds: readonly ObjectKind[]
  readonly references: 'lists' | 'names' | undefined
  readonly readsPart: ReadsPart | undefined
  readonly lists: Listing | undefined
  readonly removesName: boolean
  readonly moves: boolean
  readonly errors: readonly ErrorName[]
}

/** An operation of the catalog API. */
export interface BuiltInOperation extends Operation {
  readonly name: OperationName
}

function completeOperation(name: OperationName): BuiltInOperation {
  const operation = completeDefinition(name, operations[name])
  if (operation.multipart !== 'mayName') return operation
  return { ...operation, part: { ...operation, effect: 'change', versions: undefined } }
}

function completeDefinition(name: OperationName, definition: OperationDefinition): BuiltInOperation {
  const facts = parseFacts(definition)
  const routeMembers = (['id', 'index_name'] as const).filter((member) =>
    definition.path.includes(`{${member}}`),
  )
  return {
    name,
    summary: definition.summary,
    method: definition.method,
    methods: listMethods(definition),
    requestHeaders: definition.requestHeaders ?? [],
    responseHeaders: definition.responseHeaders ?? [],
    path: definition.path,
    aliases: definition.aliases ?? [],
    forwardsAliases: definition.forwardsAliases ?? false,
    object: definition.object,
    query: new Map([['delimiter', 'string'], ...Object.entries(definition.query ?? {})]),
    required: definition.required ?? [],
    droppedQuery: definition.droppedQuery ?? [],
    body: definition.body,
    alsoArrowSchema: definition.alsoArrowSchema ?? false,
    columnMetadata: definition.columnMetadata,
    facts,
    factsWithSeveralSources: facts.filter(([, sources]) => sources.filter(isDirectSource).length > 1),
    modes: definition.modes ?? [],
    behaviors: definition.behaviors ?? [],
    unknownBranch: definition.unknownBranch,
    entries: definition.entries,
    requires: definition.requires ?? [],
    requiredFacts: definition.requiredFacts ?? [],
    vends: definition.vends ?? false,
    emptyIsAbsent: new Set(['id', 'context', ...(definition.emptyIsAbsent ?? [])]),
    alsoFlat: definition.alsoFlat ?? false,
    defaultedFlags: definition.defaultedFlags ?? [],
    namesJob: definition.namesJob ?? false,
    holdsSecret: definition.holdsSecret ?? false,
    selectsJob: definition.selectsJob ?? false,
    multipart: definition.multipart,
    part: undefined,
    members: [],
    recorded: definition.recorded ?? [],
    describes: definition.describes ?? [],
    routeMembers: definition.body === 'json' || definition.body === 'none' ? routeMembers : [],
    effect: definition.effect,
    group: definition.group,
    isDelegated: definition.delegated ?? delegatedGroups[definition.group],
    status: definition.status ?? 200,
    statusWithoutEffect: definition.statusWithoutEffect,
    mayStartJob: definition.mayStartJob ?? false,
    response: definition.response ?? 'json',
    versions: definition.versions,
    statesVersion: definition.statesVersion ?? false,
    creates: definition.creates ?? false,
    reveals: [...(definition.reveals ?? []), ...(definition.describesKinds ?? [])],
    describesKinds: definition.describesKinds ?? [],
    references: definition.references,
    readsPart: definition.readsPart,
    lists: definition.lists,
    removesName: definition.removesName ?? false,
    moves: definition.moves ?? false,
    errors: definition.errors,
  }
}

function listMethods({ method, alsoGet, alsoPost, alsoHead }: OperationDefinition): readonly Method[] {
  if (alsoGet || alsoPost) return ['GET', 'POST']
  return alsoHead ? [method, 'HEAD'] : [method]
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

/** Finds an operation of the catalog API; undefined for any other name, such as that of an extra operation. */
export function findOperation(name: string): BuiltInOperation | undefined {
  return isOperationName(name) ? getOperation(name) : undefined
}

export function isOperationName(name: string): name is OperationName {
  return Object.hasOwn(operations, name)
}

/** Lists the members of the body of an extra operation that hold the id of a further object. */
export function listIdMembers({ requires }: Operation): readonly string[] {
  return requires.flatMap(({ on }) => (typeof on === 'object' && 'idMember' in on ? [on.idMember] : []))
}
