import { getKeys } from '../lib/index.ts'
import type { ErrorName } from './catalog-error.ts'
import { parseFactSource, type FactName, type FactSource, type FactSourcePath } from './facts.ts'

/** Everything below these paths belongs to the catalog API. */
export const apiPaths = ['/v1', '/admin/authz'] as const

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

/** The objects of a listing. Names of views are in the name space of tables. */
export type Listing = 'namespaces' | 'tables' | 'views' | 'all tables'

/** How callers who may read a part of a table can use an operation. */
type ReadsPart = 'query' | 'count' | 'description' | 'existence'

/** Groups of operations that a policy can name. Every operation and permission is in exactly one. */
export const basicGroups = [
  'browse',
  'query',
  'write',
  'create',
  'commit',
  'index',
  'schema',
  'admin',
  'drop',
  'credentials',
  'references',
] as const
export type PermissionGroup = (typeof basicGroups)[number]

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
 * reference that names no object requires ReadAnyTable on the root.
 */
export interface BodyReference {
  readonly member: string
  readonly path: readonly string[]
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

/** The members that an entry of the table may omit, with their defaults. */
class Defaults {
  /** The official method. Requests to an upstream have it, except for HEAD. */
  readonly method: 'GET' | 'POST' = 'POST'
  /**
   * All accepted methods, if there are others than the official one: clients send GET where the interface has POST, or its
   * text and its tables differ. HEAD is forwarded as HEAD: its response has the headers of the one to GET.
   */
  readonly methods: readonly Method[] = []
  readonly aliases: readonly string[] = []
  /** A request by an alias is forwarded by that alias: the response to it has other members. */
  readonly forwardsAliases: boolean = false
  /** Request headers that upstreams receive besides those of every operation. */
  readonly requestHeaders: readonly string[] = []
  /** Response headers that callers receive besides those of every operation. */
  readonly responseHeaders: readonly string[] = []
  readonly query: Readonly<Record<string, ParameterType>> = {}
  readonly required: readonly string[] = []
  /** Query parameters of old clients that are accepted and dropped. */
  readonly droppedQuery: readonly string[] = []
  readonly body: BodyForm = 'json'
  /**
   * Besides JSON, an Arrow stream of a schema without rows is accepted. The content-type alone selects the reader. The
   * stream itself states no facts.
   */
  readonly alsoArrowSchema: boolean = false
  /**
   * The request sends metadata of a schema or of columns, which the table gets (`stored`), or which has no effect unless
   * the mode is overwrite (`ignored`): clients send rows with the metadata of the table.
   */
  readonly columnMetadata: ColumnMetadata | undefined = undefined
  /** Facts with all sources of each. Sources of one fact must agree; all of them are set in the upstream request. */
  readonly facts: { readonly [Name in FactName]?: readonly FactSourcePath[] } = {}
  /** Accepted modes and behaviors. Any other is 400: only the upstream would understand it. */
  readonly modes: readonly string[] = []
  readonly behaviors: readonly string[] = []
  /** The branch is unknown, always or if the request states this fact: it touches every branch, or that of a tag. */
  readonly unknownBranch: 'always' | FactName | undefined = undefined
  readonly entries: BatchEntries | undefined = undefined
  /** Permissions required besides that of the operation, in the order in which they are decided. */
  readonly requires: readonly RequirementDefinition[] = []
  /** Facts without which a request is refused. */
  readonly requiredFacts: readonly ('manifestPath' | 'newName')[] = []
  /** The response may contain storage credentials. They are removed from it unless VendCredentials is allowed. */
  readonly vends: boolean = false
  /** Body members, besides `id` and `context`, that count as absent if they are `{}` or `[]`. */
  readonly emptyIsAbsent: readonly string[] = []
  /** The members of the object `query` may also stand at the top of the body. */
  readonly alsoFlat: boolean = false
  /** Flags that clients repeat in the body with the defaults of their model: true in the query takes precedence. */
  readonly defaultedFlags: readonly string[] = []
  /** The body names a job by `job_id`, and callers that started the job may act on it. */
  readonly namesJob: boolean = false
  /** The body may hold a secret, which the text of an error of the upstream may repeat. */
  readonly holdsSecret: boolean = false
  /** The body may select records of the object of the route by the `job_id` that the caller got. */
  readonly selectsJob: boolean = false
  /**
   * The operation `begins` a multipart write, whose id is the member `upload_id` of the response; it `names` one by the
   * query parameter `upload_id`; or it `mayName` one: such a request uploads a part, which creates no version. Only the
   * caller that began a multipart write may name it.
   */
  readonly multipart: 'begins' | 'names' | 'mayName' | undefined = undefined
  /** Parameters and members that an audit record holds besides the facts. */
  readonly recorded: readonly string[] = []
  /** Members of the response to a change, besides `describing`, that are only sent to callers that may describe the object. */
  readonly describes: readonly string[] = []
  /** Further members of the body of an extra operation; those of the catalog API are in its request schema. */
  readonly members: readonly string[] = []
  readonly status: 200 | 201 | 202 = 200
  /** With this status, too, the response may be a result: that the operation had no effect, and why. */
  readonly statusWithoutEffect: 409 | undefined = undefined
  /** The response has the status 202 and a `job_id` if a job continues the work. */
  readonly mayStartJob: boolean = false
  readonly response: ResponseForm = 'json'
  /** Default: `next` for a commit to a table in `committingGroups`. */
  readonly versions: VersionEffect | undefined = undefined
  /** Its member `version` is the version that it creates. */
  readonly statesVersion: boolean = false
  /** It creates its object, so a refusal can only reveal the namespace. */
  readonly creates: boolean = false
  /** Callers that are allowed it on an object of these kinds may know that the object exists. */
  readonly reveals: readonly ObjectKind[] = []
  /** It describes objects of these kinds, so it reveals them, and callers that are allowed it see them in listings. */
  readonly describesKinds: readonly ObjectKind[] = []
  /**
   * The response `lists` the tags or branches of the table, or errors may contain `names` of others, because tags and
   * branches retain what the operation changes. Errors of operations with the fact `tag` may, too.
   */
  readonly references: 'lists' | 'names' | undefined = undefined
  /**
   * How callers who may read a part of a table can use the operation on it: by a query or a count that is restricted to the
   * part, by a description without the rest, or unchanged, since it shows no rows and columns. All others are denied to them.
   */
  readonly readsPart: ReadsPart | undefined = undefined
  /** The response lists these objects, so it is filtered by visibility. */
  readonly lists: Listing | undefined = undefined
  /** Afterwards the object has no longer its name. Operations that remove names of one space count as one in denies. */
  readonly removesName: boolean = false
  /** Afterwards the content of the table has, or may be given, another name, branch or version. */
  readonly moves: boolean = false
  /** Errors besides those that follow from the rest of the entry: see openapi/error-responses.ts. */
  readonly errors: readonly ErrorName[] = []
}

/**
 * An entry of the table. Members that can be derived from the facts are only in the completed operation.
 */
interface Definition extends Partial<Defaults> {
  /** Shown in the OpenAPI document. */
  readonly summary: string
  /** Path with the placeholders `{id}`, `{index_name}`, `{column}` and `{row_id}`, below one of `apiPaths`. */
  readonly path: string
  readonly object: ObjectKind
  readonly effect: Effect
  /** Undefined if policies must name the operation. */
  readonly group: PermissionGroup | undefined
  /** Whether policies of delegated namespaces may allow it. */
  readonly isDelegated: boolean
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

/** Kinds with the names and the rules of tables. */
const tableKinds = ['table', 'materialized_view', 'view'] as const

/** The permission on the new id of a moved table. */
export const destinationPermission = 'CreateTable'

function requireIf(
  when: RequirementCondition,
  permission: string,
  requiredBy: string,
  on: RequirementTarget = 'itself',
): RequirementDefinition {
  return { permission, on, when, requiredBy }
}
const overwriteTable = requireIf({ fact: 'mode', is: 'overwrite' }, 'OverwriteTable', 'mode=overwrite')
const chooseLocation = requireIf({ fact: 'location' }, 'ChooseLocation', 'a location')
const chooseStorage = requireIf({ fact: 'storageOptions' }, 'ChooseStorage', 'storage_options')
/** The requirement of writes of columns whose values can refer to other objects. */
export const referenceData = requireIf(
  { columns: 'that refer to objects' },
  'ReferenceData',
  'columns that refer to other objects',
)
const vendCredentials = requireIf({ fact: 'vendCredentials' }, 'VendCredentials', 'vend_credentials')

/**
 * SQL or code: the tables that it reads are unknown before it runs, and allowing it in one namespace would open all
 * others. Expressions and filters only read the table of the route.
 */
const readAnyTable = { permission: 'ReadAnyTable', on: 'root', requiredBy: 'what it reads' } as const

function readAnyTableIf(member: string): RequirementDefinition {
  return requireIf({ member }, 'ReadAnyTable', member, 'root')
}

/** Every step of a multipart write requires the permission to insert rows at once. */
const insertRows = { permission: 'InsertIntoTable', requiredBy: 'a multipart write' } as const

const readSourceBranch = {
  permission: 'QueryTable',
  on: 'source branch',
  requiredBy: 'from_branch',
} as const

/** Operations that return values of rows require it, so that a deny of queries protects them. */
const queryTable = { permission: 'QueryTable', requiredBy: 'values of rows' } as const

/**
 * A dataset by its location, which the server reads with its own credential: like data that refers to other objects, and
 * like SQL that reads a table which no policy can resolve.
 */
const readSource = [
  requireIf({ parameter: 'source_uri' }, 'ReferenceData', 'source_uri'),
  requireIf({ parameter: 'source_uri' }, 'ReadAnyTable', 'source_uri', 'root'),
]

const useFunction = {
  permission: 'UseFunction',
  on: { member: 'function', path: ['application', 'function'] },
  requiredBy: 'the function that the body refers to',
} as const
const useSecrets = {
  permission: 'UseSecret',
  on: { member: 'secret_bindings', path: [everyElement, 'secret_ref'] },
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

/** Removing everything beneath a namespace requires all drops there: the kinds of the objects are unknown. */
function dropBeneathIf(fact: FactName, is: string, requiredBy: string): readonly RequirementDefinition[] {
  return dropOperations.map((permission) => requireIf({ fact, is }, permission, requiredBy, 'beneath'))
}

const branchInQuery = { branch: ['query.branch'] } as const
const branchAnywhere = { branch: ['query.branch', 'body.branch'] } as const

const paging = { page_token: 'string', limit: 'integer' } as const
/** Steps of a multipart write. The parts state the mode; the rows of all become visible when the write is completed. */
const multipartWrite = { body: 'none', facts: branchAnywhere, requires: [insertRows] } as const
const namedMultipartWrite = {
  ...multipartWrite,
  query: { branch: 'string', upload_id: 'string' },
  required: ['upload_id'],
  multipart: 'names',
  recorded: ['upload_id'],
} as const
const createsIndex = {
  recorded: ['name'],
  mayStartJob: true,
  errors: ['TableIndexAlreadyExists'],
} as const
const describesPlan = {
  facts: { branch: ['body.branch', 'body.query.branch'] },
  alsoFlat: true,
  emptyIsAbsent: queryHalves,
} as const
const listsReferences = {
  methods: ['GET', 'POST'],
  body: 'none',
  query: paging,
  references: 'lists',
} as const
const paged = { method: 'GET', query: paging, body: 'none' } as const
const dropsTable = { body: 'none', unknownBranch: 'always', removesName: true, mayStartJob: true } as const

type Access = Pick<Definition, 'effect' | 'group' | 'isDelegated'>

/**
 * Whether policies of delegated namespaces may allow an operation: its effects must stay in the namespace. The group says
 * it, or else the entry. Not delegated are operations that attach storage of others, hand out credentials, or run SQL or
 * code that can read any table; and jobs, which are decided at the root. A batch is decided by its entries.
 */
const delegated = true
const undelegated = false
type DelegatedGroup = 'browse' | 'query' | 'write' | 'create' | 'drop'

interface Allows {
  (group: DelegatedGroup): Access
  (group: Exclude<PermissionGroup, DelegatedGroup>, isDelegated: boolean): Access
}
const allows =
  (effect: Effect): Allows =>
  (group: PermissionGroup, isDelegated: boolean = delegated) => ({ effect, group, isDelegated })
const reads = allows('read')
const changes = allows('change')
const commits = allows('commit')

type Rest = Omit<Definition, 'path' | 'object' | keyof Access>
/** No members that a definition does not have: a misspelled one would be without effect. */
type Known<Entry> = Rest & { readonly [Unknown in Exclude<keyof Entry, keyof Rest>]: never }

/** Creates entries of operations on one kind of objects, with paths below the one of the object. */
function on(object: ObjectKind, parent = `/v1/${object}/{id}/`) {
  return <const Entry extends Known<Entry>>(path: string, access: Access, entry: Entry) => ({
    ...entry,
    ...access,
    object,
    path: `${parent}${path}`,
  })
}

const onNamespace = on('namespace')
const onTable = on('table')
const onTransaction = on('transaction')
const onMaterializedView = on('materialized_view')
const onView = on('view')
const onFunction = on('function')
const onSecret = on('secret')
const onAll = on('none', '/v1/')

/** Of a branch of a table, which the body names. */
function onBranch<const Entry extends Known<Entry>>(path: string, access: Access, entry: Entry) {
  const facts = { branch: ['body.branch'] } as const
  return { ...onTable(path, access, entry), facts }
}

/** Of the realtime engine: each has the path of before 0.41 as well, and names no branch. */
function onRte<const Entry extends Known<Entry>>(path: string, alias: string, access: Access, entry: Entry) {
  const rest = {
    aliases: [`/v1/table/{id}/${alias}`],
    forwardsAliases: true,
    unknownBranch: 'always',
  } as const
  return { ...onTable(path, access, entry), ...rest }
}

function onJob<const Entry extends Known<Entry>>(path: string, effect: Effect, entry: Entry) {
  // No error of the interface means a missing job.
  const errors: readonly ErrorName[] = ['TransactionNotFound']
  return { ...onAll(`jobs/${path}`, allows(effect)('admin', undelegated), entry), namesJob: true, errors }
}

/** Grants of the server itself, beside the policies of the gateway: one more could open every table there. */
function onGrants<const Entry extends Known<Entry>>(path: string, effect: Effect, entry: Entry) {
  const access = { effect, group: undefined, isDelegated: false }
  // A subject may be an API key.
  return { ...on('none', '/admin/authz/')(path, access, entry), holdsSecret: true }
}

/**
 * The operations of the catalog API: the only definition of their paths, methods and properties. Every operation also
 * takes the query parameter `delimiter`.
 */
export const operations = {
  CreateNamespace: onNamespace('create', changes('create'), {
    summary: 'Creates a namespace',
    creates: true,
    facts: { mode: ['body.mode'], properties: ['body.properties'], location: ['properties.location'] },
    modes: ['Create', 'ExistOk', 'Overwrite'],
    emptyIsAbsent: ['properties'],
    requires: [...dropBeneathIf('mode', 'overwrite', 'mode Overwrite'), chooseLocation],
  }),
  ListNamespaces: onNamespace('list', reads('browse'), {
    ...paged,
    summary: 'Lists the namespaces of a namespace',
    methods: ['GET', 'POST'],
    lists: 'namespaces',
    reveals: ['namespace'],
  }),
  DescribeNamespace: onNamespace('describe', reads('browse'), {
    summary: 'Describes a namespace',
    describesKinds: ['namespace', 'none'],
  }),
  DropNamespace: onNamespace('drop', commits('drop'), {
    summary: 'Drops a namespace',
    facts: { mode: ['body.mode'], behavior: ['body.behavior'] },
    modes: ['Fail', 'Skip'],
    behaviors: ['Restrict', 'Cascade'],
    requires: dropBeneathIf('behavior', 'cascade', 'behavior Cascade'),
    removesName: true,
    errors: ['NamespaceNotEmpty'],
  }),
  NamespaceExists: onNamespace('exists', reads('browse'), {
    summary: 'Checks whether a namespace exists',
    response: 'empty',
    reveals: ['namespace'],
  }),
  ListTables: onNamespace('table/list', reads('browse'), {
    ...paged,
    summary: 'Lists the tables of a namespace',
    query: { ...paging, include_declared: 'boolean' },
    lists: 'tables',
    reveals: ['namespace', ...tableKinds],
  }),
  ListAllTables: onAll('table', reads('browse'), {
    ...paged,
    summary: 'Lists the tables of all namespaces',
    query: { ...paging, include_declared: 'boolean' },
    lists: 'all tables',
  }),
  RegisterTable: onTable('register', changes('admin', undelegated), {
    summary: 'Registers a table that exists in storage',
    creates: true,
    facts: {
      mode: ['body.mode'],
      properties: ['body.properties'],
      location: ['body.location', 'properties.location'],
    },
    modes: ['Create', 'Overwrite'],
    unknownBranch: 'always',
    emptyIsAbsent: ['properties'],
    requires: [overwriteTable, { permission: 'ChooseLocation', requiredBy: 'a location' }],
    versions: 'restart',
  }),
  CloneTable: onTable('clone', commits('admin', undelegated), {
    summary: 'Creates a table from the dataset at a location',
    creates: true,
    unknownBranch: 'always',
    recorded: ['source_location', 'source_version', 'source_tag', 'is_shallow'],
    // The source may be any dataset that the upstream can read: no id says which table it is, if it is one.
    requires: [readAnyTable, { permission: 'ChooseLocation', requiredBy: 'source_location' }],
    versions: 'restart',
    errors: ['TableNotFound'],
  }),
  DescribeTable: onTable('describe', reads('browse'), {
    summary: 'Describes a table',
    query: { with_table_uri: 'boolean', load_detailed_metadata: 'boolean', check_declared: 'boolean' },
    defaultedFlags: ['with_table_uri', 'load_detailed_metadata', 'check_declared'],
    facts: { branch: ['body.branch'], tag: ['body.tag'], vendCredentials: ['body.vend_credentials'] },
    unknownBranch: 'tag',
    requires: [vendCredentials],
    vends: true,
    readsPart: 'description',
    describesKinds: tableKinds,
  }),
  TableExists: onTable('exists', reads('browse'), {
    summary: 'Checks whether a table exists',
    readsPart: 'existence',
    response: 'empty',
    reveals: tableKinds,
  }),
  DropTable: onTable('drop', commits('drop'), {
    ...dropsTable,
    summary: 'Drops a table with its data',
  }),
  DeregisterTable: onTable('deregister', changes('drop'), {
    summary: 'Removes a table from the catalog and keeps its data',
    unknownBranch: 'always',
    removesName: true,
    moves: true,
  }),
  RestoreTable: onBranch('restore', commits('admin', delegated), {
    summary: 'Restores an older version of a table',
    versions: 'next',
    recorded: ['version'],
    moves: true,
  }),
  RenameTable: onTable('rename', changes('admin', delegated), {
    summary: 'Renames or moves a table',
    facts: {
      newNamespace: ['body.new_namespace_id', 'body.new_namespace'],
      newName: ['body.new_table_name'],
    },
    unknownBranch: 'always',
    requires: [requireIf({ fact: 'newName' }, destinationPermission, 'the destination', 'destination')],
    requiredFacts: ['newName'],
    removesName: true,
    moves: true,
  }),
  UpdateTableSchemaMetadata: onTable('schema_metadata/update', commits('schema', delegated), {
    summary: 'Changes the metadata of the schema of a table',
    body: 'map',
    query: { branch: 'string' },
    columnMetadata: 'stored',
    facts: branchInQuery,
  }),
  ListTableVersions: onTable('version/list', reads('browse'), {
    summary: 'Lists the versions of a table',
    methods: ['GET', 'POST'],
    body: 'none',
    query: { branch: 'string', ...paging, descending: 'boolean' },
    facts: branchAnywhere,
  }),
  CreateTableVersion: onTable('version/create', commits('commit', undelegated), {
    summary: 'Commits a version of a table',
    facts: { branch: ['body.branch'], manifestPath: ['body.manifest_path'], metadata: ['body.metadata'] },
    recorded: ['version', 'manifest_size', 'e_tag', 'naming_scheme'],
    requiredFacts: ['manifestPath'],
    statesVersion: true,
  }),
  DescribeTableVersion: onBranch('version/describe', reads('browse'), {
    summary: 'Describes a version of a table',
  }),
  BatchDeleteTableVersions: onBranch('version/delete', commits('drop'), {
    summary: 'Deletes ranges of versions of a table',
    recorded: ['ranges'],
    references: 'names',
  }),
  BatchCreateTableVersions: onAll('table/version/batch-create', commits('commit', delegated), {
    summary: 'Commits versions of several tables at once',
    entries: { member: 'entries', operation: 'CreateTableVersion', results: 'versions' },
    errors: ['NamespaceNotFound', 'TableNotFound'],
  }),
  BatchCommitTables: onAll('table/batch-commit', commits('commit', delegated), {
    summary: 'Commits changes of several tables at once',
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
    vends: true,
    errors: ['NamespaceNotFound', 'TableNotFound', 'TableAlreadyExists'],
  }),
  AlterTableAlterColumns: onBranch('alter_columns', commits('schema', delegated), {
    summary: 'Changes columns of a table',
    columnMetadata: 'stored',
    requires: [readAnyTableIf('virtual_column'), referenceData],
  }),
  UpdateFieldMetadata: onBranch('update_field_metadata', commits('schema', delegated), {
    summary: 'Changes the metadata of columns of a table',
    columnMetadata: 'stored',
    requires: [referenceData],
  }),
  AlterTableDropColumns: onBranch('drop_columns', commits('schema', delegated), {
    summary: 'Drops columns of a table',
  }),
  GetTableStats: onBranch('stats', reads('browse'), {
    summary: 'Returns statistics of a table',
    methods: ['GET', 'POST'],
  }),
  InsertIntoTable: onTable('insert', commits('write'), {
    summary: 'Inserts rows into a table',
    body: 'arrow',
    query: { branch: 'string', mode: 'string', upload_id: 'string', upload_part_id: 'string' },
    // LanceDB's clients up to 0.16. The id of a request comes from its header only.
    droppedQuery: ['request_id'],
    columnMetadata: 'ignored',
    facts: { branch: ['query.branch'], mode: ['query.mode'] },
    modes: ['Append', 'Overwrite'],
    multipart: 'mayName',
    recorded: ['upload_id', 'upload_part_id'],
    requires: [overwriteTable, referenceData],
  }),
  CreateMultipartWrite: onTable('multipart_write/create', changes('write'), {
    ...multipartWrite,
    summary: 'Begins an insert in several parts',
    query: { branch: 'string' },
    multipart: 'begins',
  }),
  CompleteMultipartWrite: onTable('multipart_write/complete', commits('write'), {
    ...namedMultipartWrite,
    summary: 'Inserts the rows of all parts',
    errors: ['TableSchemaValidationError'],
  }),
  AbortMultipartWrite: onTable('multipart_write/abort', changes('write'), {
    ...namedMultipartWrite,
    summary: 'Discards the parts of an insert',
  }),
  MergeInsertIntoTable: onTable('merge_insert', commits('write'), {
    summary: 'Updates matching rows of a table and inserts the others',
    body: 'arrow',
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
      requireIf({ fact: 'deletesUnmatched' }, 'DeleteFromTable', 'when_not_matched_by_source_delete'),
      requireIf(
        { parameter: 'when_not_matched_by_source_delete_filt' },
        'DeleteFromTable',
        'when_not_matched_by_source_delete_filt',
      ),
      referenceData,
    ],
  }),
  UpdateTable: onTable('update', commits('write'), {
    summary: 'Updates rows of a table',
    facts: { branch: ['body.branch'], properties: ['body.properties'], location: ['properties.location'] },
    unknownBranch: 'properties',
    recorded: ['predicate'],
    requires: [
      // A change of the whole table together with one of a branch requires both.
      requireIf({ fact: 'properties' }, 'UpdateTable', 'its branch'),
      chooseLocation,
    ],
  }),
  DeleteFromTable: onBranch('delete', commits('write'), {
    summary: 'Deletes rows of a table',
    recorded: ['predicate'],
  }),
  QueryTable: onBranch('query', reads('query'), {
    summary: 'Queries rows of a table',
    emptyIsAbsent: queryHalves,
    readsPart: 'query',
    response: 'arrow',
  }),
  CountTableRows: onBranch('count_rows', reads('query'), {
    summary: 'Counts the rows of a table',
    methods: ['GET', 'POST'],
    readsPart: 'count',
  }),
  CreateTable: onTable('create', commits('create'), {
    summary: 'Creates a table with rows',
    body: 'arrow',
    creates: true,
    query: { mode: 'string', properties: 'string', storage_options: 'string' },
    columnMetadata: 'stored',
    facts: {
      mode: ['query.mode'],
      properties: ['query.properties', 'header.properties'],
      location: ['header.location', 'properties.location'],
      storageOptions: ['query.storage_options'],
    },
    modes: ['Create', 'ExistOk', 'Overwrite'],
    describes: ['version'],
    requires: [overwriteTable, chooseLocation, chooseStorage, referenceData],
    vends: true,
    versions: 'restart',
  }),
  // Policies that allow QueryTable alone do not allow blobs, which are larger than rows by orders of magnitude.
  FetchTableBlobs: onBranch('fetch_blobs', reads('query'), {
    summary: 'Returns values of a blob column of a table',
    recorded: ['column', 'row_ids', 'version'],
    requires: [queryTable],
    response: 'arrow-stream',
  }),
  GetTableBlob: onTable('blob/{column}/{row_id}/bytes', reads('query'), {
    summary: 'Returns a value of a blob column of a table, or a part of it',
    method: 'GET',
    methods: ['GET', 'HEAD'],
    body: 'none',
    query: {
      version: 'long',
      branch: 'string',
      // The dataset that the value is read from, with the time of its version; `version` and `branch` are its own then.
      source_uri: 'string',
      source_commit_micros: 'long',
      row_is_address: 'boolean',
    },
    facts: branchInQuery,
    recorded: ['source_uri', 'version'],
    requires: [queryTable, ...readSource],
    requestHeaders: ['if-none-match', 'if-range', 'range'],
    responseHeaders: ['accept-ranges', 'content-range', 'etag', 'last-modified'],
    response: 'bytes',
  }),
  ExplainTableQueryPlan: onTable('explain_plan', reads('query'), {
    ...describesPlan,
    summary: 'Explains how a query would be executed',
  }),
  AnalyzeTableQueryPlan: onTable('analyze_plan', reads('query'), {
    ...describesPlan,
    summary: 'Executes a query and explains how',
    // `aggregate`, `per_worker` or `full`.
    query: { distributed_metrics: 'string' },
  }),
  AlterTableAddColumns: onTable('add_columns', commits('schema', delegated), {
    summary: 'Adds columns to a table',
    // An Arrow schema has no place for it.
    query: { branch: 'string' },
    alsoArrowSchema: true,
    columnMetadata: 'stored',
    facts: branchAnywhere,
    requires: [readAnyTableIf('virtual_column'), useFunction, referenceData],
  }),
  AlterTableBackfillColumns: onBranch('backfill_column', commits('admin', undelegated), {
    summary: 'Computes the values of a column of a table',
    recorded: ['column', 'where'],
    status: 202,
  }),
  RefreshMaterializedView: onMaterializedView('refresh', commits('admin', undelegated), {
    summary: 'Refreshes a materialized view',
    unknownBranch: 'always',
    recorded: ['src_version', 'source_version'],
    status: 202,
  }),
  CreateMaterializedView: onMaterializedView('create', commits('admin', undelegated), {
    summary: 'Creates a materialized view',
    creates: true,
    unknownBranch: 'always',
    recorded: ['kind', 'source_query', 'query'],
    requires: [readAnyTable],
    status: 201,
    mayStartJob: true,
    errors: ['TableNotFound'],
  }),
  CreateTableIndex: onBranch('create_index', commits('index', delegated), {
    ...createsIndex,
    summary: 'Creates an index of a table',
  }),
  CreateTableScalarIndex: onBranch('create_scalar_index', commits('index', delegated), {
    ...createsIndex,
    summary: 'Creates a scalar index of a table',
  }),
  ListTableIndices: onBranch('index/list', reads('browse'), {
    summary: 'Lists the indexes of a table',
    methods: ['GET', 'POST'],
  }),
  DescribeTableIndexStats: onBranch('index/{index_name}/stats', reads('browse'), {
    summary: 'Returns statistics of an index of a table',
    methods: ['GET', 'POST'],
  }),
  DropTableIndex: onTable('index/{index_name}/drop', commits('index', delegated), {
    summary: 'Drops an index of a table',
    body: 'none',
    query: { branch: 'string' },
    facts: branchAnywhere,
  }),
  ListTableTags: onTable('tags/list', reads('browse'), {
    ...listsReferences,
    summary: 'Lists the tags of a table',
  }),
  GetTableTagVersion: onTable('tags/version', reads('browse'), {
    summary: 'Returns the version that a tag names',
    facts: { tag: ['body.tag'] },
    unknownBranch: 'always',
  }),
  DeclareTable: onTable('declare', changes('create'), {
    summary: 'Reserves the location of a table without data',
    creates: true,
    aliases: ['/v1/table/{id}/create-empty'],
    facts: {
      properties: ['body.properties'],
      location: ['body.location', 'properties.location'],
      vendCredentials: ['body.vend_credentials'],
    },
    emptyIsAbsent: ['properties'],
    requires: [chooseLocation, vendCredentials],
    vends: true,
  }),
  CreateTableTag: onTable('tags/create', changes('admin', delegated), {
    summary: 'Creates a tag of a table',
    facts: { tag: ['body.tag'], branch: ['body.branch'] },
    recorded: ['version'],
    errors: ['TableTagAlreadyExists'],
  }),
  DeleteTableTag: onTable('tags/delete', changes('admin', delegated), {
    summary: 'Deletes a tag of a table',
    facts: { tag: ['body.tag'] },
    unknownBranch: 'always',
  }),
  UpdateTableTag: onTable('tags/update', changes('admin', delegated), {
    summary: 'Moves a tag of a table to another version',
    facts: { tag: ['body.tag'], branch: ['body.branch'] },
    unknownBranch: 'always',
    recorded: ['version'],
  }),
  ListTableBranches: onTable('branches/list', reads('browse'), {
    ...listsReferences,
    summary: 'Lists the branches of a table',
  }),
  CreateTableBranch: onTable('branches/create', changes('admin', delegated), {
    summary: 'Creates a branch of a table',
    facts: { branch: ['body.name'], sourceBranch: ['body.from_branch'] },
    recorded: ['from_version'],
    requires: [{ ...readSourceBranch, requiredBy: 'the branch that is copied' }],
    references: 'names',
    moves: true,
    errors: ['TableBranchAlreadyExists'],
  }),
  DeleteTableBranch: onTable('branches/delete', changes('admin', delegated), {
    summary: 'Deletes a branch of a table',
    facts: { branch: ['body.name'] },
    references: 'names',
    errors: ['TableBranchNotFound'],
  }),
  DescribeTransaction: onTransaction('describe', reads('browse'), {
    summary: 'Describes a transaction',
    unknownBranch: 'always',
    describesKinds: ['transaction'],
  }),
  AlterTransaction: onTransaction('alter', changes('admin', delegated), {
    summary: 'Changes a transaction',
    unknownBranch: 'always',
  }),
  // The following are operations of the remote client of LanceDB that the interface does not have.
  // It evicts cached data of others.
  PrewarmTableIndex: onTable('index/{index_name}/prewarm', reads('index', delegated), {
    summary: 'Loads an index of a table into the cache of the server',
    body: 'none',
    unknownBranch: 'always',
  }),
  PrewarmTableData: onTable('page_cache/prewarm', reads('admin', delegated), {
    summary: 'Loads columns of a table into the cache of the server',
    unknownBranch: 'always',
  }),
  // The realtime engine (RTE) is a second way of writing, which 0.40 calls LSM: merged rows are in logs of the server, and
  // only compaction commits them. Requests name no branch.
  // It configures writers of the server.
  EnableTableRte: onRte('enable_rte', 'set_lsm_write_spec', commits('admin', undelegated), {
    summary: 'Lets the realtime engine write the merged rows of a table',
    recorded: ['sharding', 'maintained_indexes', 'writer_config_defaults'],
  }),
  DisableTableRte: onRte('disable_rte', 'unset_lsm_write_spec', commits('admin', delegated), {
    summary: 'Ends the writing of the realtime engine',
    body: 'none',
  }),
  FlushTableRte: onRte('flush_rte', 'flush_lsm', changes('admin', delegated), {
    summary: 'Lets the realtime engine write its rows from memory to storage',
    body: 'none',
    status: 202,
    response: 'empty',
  }),
  CompactTableRte: onRte('compact_rte', 'compact_lsm', commits('admin', delegated), {
    summary: 'Lets the realtime engine commit its rows to the table',
    body: 'none',
    status: 202,
    response: 'empty',
  }),
  GetTableRteStats: onRte('get_rte_stats', 'get_lsm_stats', reads('admin', delegated), {
    summary: 'Returns statistics of the realtime engine about a table',
  }),
  GetTableRteSpec: onRte('get_rte_spec', 'get_lsm_write_spec', reads('admin', delegated), {
    summary: 'Returns how the realtime engine writes a table',
    body: 'none',
  }),
  // The query may name tables that the caller may not see.
  DescribeMaterializedView: onMaterializedView('describe', reads('admin', delegated), {
    summary: 'Describes a materialized view',
    body: 'none',
  }),
  DropMaterializedView: onMaterializedView('drop', commits('drop'), {
    ...dropsTable,
    summary: 'Drops a materialized view with its data',
  }),
  ListMaterializedViews: onNamespace('materialized_view/list', reads('browse'), {
    ...paged,
    summary: 'Lists the materialized views of a namespace',
    lists: 'views',
  }),
  CreateView: onView('create', changes('admin', undelegated), {
    summary: 'Creates a view',
    creates: true,
    unknownBranch: 'always',
    recorded: ['query'],
    requires: [readAnyTable],
  }),
  DescribeView: onView('describe', reads('admin', delegated), { summary: 'Describes a view', body: 'none' }),
  DropView: onView('drop', changes('drop'), {
    ...dropsTable,
    summary: 'Drops a view',
  }),
  ListViews: onNamespace('view/list', reads('browse'), {
    ...paged,
    summary: 'Lists the views of a namespace',
    lists: 'views',
  }),
  CreateFunction: onFunction('create', changes('admin', undelegated), {
    summary: 'Creates a version of a function',
    creates: true,
    requires: [readAnyTable, useSecrets],
    status: 202,
  }),
  // TableNotFound also means a missing function.
  DescribeFunction: onFunction('describe', reads('admin', delegated), {
    summary: 'Describes a version of a function',
    describesKinds: ['function'],
  }),
  DropFunction: onFunction('drop', changes('drop'), {
    summary: 'Drops a version of a function',
    recorded: ['version'],
    removesName: true,
    mayStartJob: true,
  }),
  // Its response contains code, not only names, so it is not filtered by visibility.
  ListFunctions: onNamespace('function/list', reads('admin', delegated), {
    ...paged,
    summary: 'Lists the functions of a namespace',
    query: { ...paging, include_definition: 'boolean' },
  }),
  // A secret has no effect outside of its namespace before a function gets it, which UseSecret decides. Names of secrets
  // reveal the services of a team, so they are not in the group browse.
  CreateSecret: onSecret('create', changes('admin', delegated), {
    summary: 'Creates a secret',
    creates: true,
    holdsSecret: true,
  }),
  AlterSecret: onSecret('alter', changes('admin', delegated), {
    summary: 'Replaces the value of a secret',
    holdsSecret: true,
  }),
  // TableNotFound also means a missing secret.
  DescribeSecret: onSecret('describe', reads('admin', delegated), {
    summary: 'Describes a secret without its value',
    body: 'none',
    describesKinds: ['secret'],
  }),
  DropSecret: onSecret('drop', changes('drop'), {
    summary: 'Drops a secret',
    body: 'none',
    removesName: true,
  }),
  ListSecrets: onNamespace('secret/list', reads('admin', delegated), {
    ...paged,
    summary: 'Lists the secrets of a namespace',
  }),
  DiffTableBranches: onTable('branches/diff', reads('query'), {
    summary: 'Compares a branch of a table with main',
    facts: { sourceBranch: ['body.from_branch'] },
    requires: [readSourceBranch],
    references: 'names',
  }),
  CherryPickTableBranch: onTable('branches/cherry_pick', commits('admin', delegated), {
    summary: 'Applies the new columns of a branch of a table to main',
    facts: { sourceBranch: ['body.from_branch'] },
    // A dry run counts as a commit: an upstream that does not know the member would make one.
    recorded: ['dry_run'],
    requires: [readSourceBranch],
    statusWithoutEffect: 409,
    references: 'names',
    moves: true,
  }),
  // Messages may also quote the code of a function and its secrets.
  ListFunctionErrors: onBranch('errors', reads('admin', delegated), {
    summary: 'Lists the errors of functions in rows of a table',
    selectsJob: true,
    requires: [{ ...queryTable, requiredBy: 'messages with values of rows' }],
  }),
  ListJobs: onAll('jobs/list', reads('admin', undelegated), { summary: 'Lists jobs' }),
  DescribeJob: onJob('describe', 'read', { summary: 'Describes a job' }),
  CancelJob: onJob('cancel', 'change', { summary: 'Cancels a job', recorded: ['job_id'] }),
  PauseJob: onJob('pause', 'change', { summary: 'Pauses a job', recorded: ['job_id'] }),
  ResumeJob: onJob('resume', 'change', { summary: 'Resumes a job that was paused', recorded: ['job_id'] }),
  QueryJobEvents: onJob('query_events', 'read', {
    summary: 'Queries the events of jobs',
    response: 'arrow-stream',
  }),
  ListGrants: onGrants('acl/list', 'read', { summary: 'Lists grants of the server' }),
  AddGrant: onGrants('acl/add', 'change', {
    summary: 'Adds a grant of the server',
    recorded: ['object', 'subject', 'privilege'],
  }),
  DeleteGrant: onGrants('acl/delete', 'change', {
    summary: 'Deletes a grant of the server',
    recorded: ['object', 'subject', 'privilege'],
  }),
  ListRoleBindings: onGrants('role_binding/list', 'read', {
    summary: 'Lists who has which role of the server',
  }),
  AddRoleBinding: onGrants('role_binding/add', 'change', {
    summary: 'Gives a role of the server',
    recorded: ['subject', 'role'],
  }),
  DeleteRoleBinding: onGrants('role_binding/delete', 'change', {
    summary: 'Takes a role of the server away',
    recorded: ['subject', 'role'],
  }),
  DescribePrincipal: onGrants('principal', 'read', { summary: 'Describes a principal of the server' }),
  DescribeGroup: onGrants('group', 'read', { summary: 'Describes a group of the server' }),
} satisfies Record<string, Definition>

/** Name of an operation of the catalog API. */
export type OperationName = keyof typeof operations

declare const isExtra: unique symbol
/** Name of an operation that only the settings declare; see extra-operation.ts. */
export type ExtraOperationName = string & { readonly [isExtra]: true }

export type AnyOperationName = OperationName | ExtraOperationName

/** The entry of an operation, completed. */
export interface Operation extends Required<Omit<Definition, 'query' | 'facts' | 'emptyIsAbsent'>> {
  readonly name: AnyOperationName
  readonly query: ReadonlyMap<string, ParameterType>
  /** Facts with their sources, in the order of the table. */
  readonly facts: readonly (readonly [FactName, readonly FactSource[]])[]
  /** Facts that a request can state in several sources. */
  readonly factsWithSeveralSources: Operation['facts']
  readonly emptyIsAbsent: ReadonlySet<string>
  /** The same operation for a request that uploads a part of a multipart write. */
  readonly part: this | undefined
  /** Members of a JSON body that repeat the route and must equal it. */
  readonly routeMembers: readonly ('id' | 'index_name')[]
}

/** An operation of the catalog API. */
export interface BuiltInOperation extends Operation {
  readonly name: OperationName
}

/** Members of responses to changes that describe the object, its columns or its rows. */
const describing = ['location', 'properties', 'fields', 'diff', 'preview']

/** Completes an entry by the defaults and derived members. */
export function complete<Name extends AnyOperationName>(
  name: Name,
  definition: Definition,
): Operation & { readonly name: Name } {
  const entry: Required<Definition> = Object.assign(new Defaults(), definition)
  const { path, method, methods, body, alsoFlat } = entry
  const absent = ['id', 'context', ...entry.emptyIsAbsent]
  const facts = getKeys(entry.facts).map(
    (fact) => [fact, (entry.facts[fact] ?? []).map(parseFactSource)] as const,
  )
  const routeMembers = (['id', 'index_name'] as const).filter((member) => path.includes(`{${member}}`))
  const operation = {
    ...entry,
    name,
    methods: methods.length === 0 ? [method] : methods,
    query: new Map<string, ParameterType>([['delimiter', 'string'], ...Object.entries(entry.query)]),
    facts,
    // A key of the properties is no source of the whole properties fact.
    factsWithSeveralSources: facts.filter(
      ([, sources]) => sources.filter((source) => source.in !== 'properties').length > 1,
    ),
    emptyIsAbsent: new Set(alsoFlat ? [...absent, ...absent.map((name) => `query.${name}`)] : absent),
    routeMembers: body === 'json' || body === 'none' ? routeMembers : [],
    reveals: [...entry.reveals, ...entry.describesKinds],
    describes: entry.effect === 'read' ? [] : [...describing, ...entry.describes],
    versions: entry.versions ?? (makesVersion(entry) ? 'next' : undefined),
    part: undefined,
  }
  if (entry.multipart !== 'mayName') return operation
  return { ...operation, part: { ...operation, effect: 'change', versions: undefined } }
}

const committingGroups: readonly unknown[] = ['write', 'commit', 'index', 'schema']

function makesVersion({ object, effect, group }: Definition): boolean {
  return object === 'table' && effect === 'commit' && committingGroups.includes(group)
}

export const operationNames: readonly OperationName[] = getKeys(operations)

const operationsByName = new Map(operationNames.map((name) => [name, complete(name, operations[name])]))

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
