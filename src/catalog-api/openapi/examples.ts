import type { z } from 'zod'
import { defaultDelimiter } from '../identifiers.ts'
import type { ObjectKind } from '../operations.ts'
import type { DescribedOperation, operationSchemas, ResponseOf } from '../schemas/operation-schemas.ts'

/*
 * Examples in the OpenAPI document. All are about one table, `sales$orders`: three rows with the columns `id` and
 * `amount`, an index, a tag, a branch and a materialized view.
 */

const namespace = ['sales']
const table = [...namespace, 'orders']
const column = 'amount'
const index = `${column}_idx`
const tag = 'audited'
const branch = 'experiment'
const predicate = `${column} > 100`
const rows = 3
const location = 's3://lake/sales/orders.lance'
const manifest = 'lake/sales/orders.lance/_versions/2.manifest'
const properties = { owner: 'ann' }
const job = { job_id: 'job-1' }
const grant = { object: 'table:sales:public$orders', subject: 'g:analysts', privilege: 'SELECT' }
const roleBinding = { subject: 'p:ann', role: 'reader' }
const commit = { version: 2 }

const schema = {
  fields: [
    { name: 'id', nullable: false, type: { type: 'int64' } },
    { name: column, nullable: true, type: { type: 'double' } },
  ],
}
const tableVersion = { version: 2, manifest_path: manifest, manifest_size: 512 }
const view = { name: 'recent_orders', query: 'SELECT id FROM orders', default_database: 'sales', schema }
const query = { k: 10, vector: { single_vector: [] }, filter: predicate, columns: { column_names: ['id'] } }
const page = { limit: 100 }
const multipartWrite = { upload_id: '0d5f8e1c' }
const diff = {
  fromBranch: branch,
  parentVersion: 1,
  mainVersion: 1,
  branchVersion: 2,
  baseMoved: false,
  rowCountMain: rows,
  rowCountBranch: rows,
  rowSummary: {
    unchanged: rows,
    newOnBase: 0,
    newOnBranch: 0,
    staleRecompute: 0,
    inputsChanged: 0,
    deltaAvailable: true,
  },
  addedColumns: [{ name: 'tax', dataType: 'double', nullable: true }],
  removedColumns: [],
  changedColumns: [],
  addedIndexes: [],
  removedIndexes: [],
  errors: [],
}
const definition = { version: 'v1' }

const idsByObject: Readonly<Record<ObjectKind, readonly string[]>> = {
  namespace,
  table,
  transaction: [...table, '1'],
  materialized_view: [...namespace, 'large_orders'],
  view: [...namespace, view.name],
  function: [...namespace, 'total'],
  secret: [...namespace, 'token'],
  none: [],
}

/** The example of `{id}` in the path of an operation on this kind of object. */
export function getIdExample(object: ObjectKind): string {
  return idsByObject[object].join(defaultDelimiter)
}

/** The examples of `{index_name}` and `{column}`. */
export const indexNameExample = index
export const columnExample = column

type RequestExamples = {
  readonly [Name in DescribedOperation]?: z.input<(typeof operationSchemas)[Name]['request']>
}

type ResponseExamples = { readonly [Name in DescribedOperation]?: ResponseOf<Name> }

/** Members of the query and of the body; operations that are not listed need none. */
export const requestExamples: RequestExamples = {
  CreateNamespace: { mode: 'ExistOk', properties },
  ListNamespaces: page,
  DropNamespace: { mode: 'Fail', behavior: 'Restrict' },
  ListTables: page,
  ListAllTables: page,
  RegisterTable: { location: 'orders.lance', mode: 'Create' },
  CloneTable: { source_location: location, is_shallow: true },
  DescribeTable: { version: 1 },
  RestoreTable: { version: 1 },
  RenameTable: { new_table_name: 'archived_orders' },
  UpdateTableSchemaMetadata: { metadata: properties },
  ListTableVersions: { ...page, descending: true },
  CreateTableVersion: tableVersion,
  DescribeTableVersion: { version: 1 },
  BatchDeleteTableVersions: { ranges: [{ start_version: 1, end_version: 2 }] },
  BatchCreateTableVersions: { entries: [{ id: table, ...tableVersion }] },
  BatchCommitTables: { operations: [{ create_table_version: { id: table, ...tableVersion } }] },
  AlterTableAlterColumns: { alterations: [{ path: column, rename: 'total' }] },
  UpdateFieldMetadata: { updates: [{ path: column, metadata: { unit: 'EUR' } }] },
  AlterTableDropColumns: { columns: [column] },
  InsertIntoTable: { mode: 'Append' },
  CompleteMultipartWrite: multipartWrite,
  AbortMultipartWrite: multipartWrite,
  MergeInsertIntoTable: { on: ['id'], when_matched_update_all: true },
  UpdateTable: { predicate, updates: [[column, `${column} * 2`]] },
  DeleteFromTable: { predicate },
  QueryTable: query,
  CountTableRows: { predicate },
  CreateTable: { mode: 'Create' },
  ExplainTableQueryPlan: { query },
  AnalyzeTableQueryPlan: query,
  AlterTableAddColumns: { new_columns: [{ name: 'tax', expression: `${column} * 0.2` }] },
  AlterTableBackfillColumns: { column },
  PrewarmTableData: { columns: [column] },
  EnableTableRte: {
    sharding: { mode: 'bucket', column: 'id', num_buckets: 16 },
    maintained_indexes: [index],
  },
  GetTableRteStats: { include_sstable_rows: false },
  CreateTableIndex: { column, index_type: 'BTREE', name: index },
  CreateTableScalarIndex: { column, index_type: 'BTREE', name: index },
  ListTableTags: page,
  GetTableTagVersion: { tag },
  DeclareTable: { properties },
  CreateTableTag: { tag, version: 1 },
  DeleteTableTag: { tag },
  UpdateTableTag: { tag, version: 2 },
  ListTableBranches: page,
  CreateTableBranch: { name: branch, from_version: 1 },
  DeleteTableBranch: { name: branch },
  DiffTableBranches: { from_branch: branch },
  CherryPickTableBranch: { from_branch: branch, dry_run: true },
  ListFunctionErrors: { column },
  FetchTableBlobs: { column, row_ids: [0, 1] },
  AlterTransaction: { actions: [{ setPropertyAction: { key: 'owner', value: 'ann' } }] },
  RefreshMaterializedView: { full: true },
  CreateMaterializedView: { kind: 'query', source_query: 'SELECT id FROM orders', output_schema: '/////w==' },
  ListMaterializedViews: page,
  CreateView: { query: view.query },
  ListViews: page,
  CreateFunction: {
    artifact: { kind: 'python', entrypoint: 'total' },
    signature: { inputs: [], output: { kind: 'scalar', arrow_type: 'double' } },
  },
  DescribeFunction: definition,
  DropFunction: definition,
  ListFunctions: page,
  CreateSecret: { value: 'the value' },
  AlterSecret: { value: 'another value' },
  ListSecrets: page,
  ListJobs: page,
  DescribeJob: job,
  CancelJob: job,
  PauseJob: job,
  ResumeJob: job,
  QueryJobEvents: { ...job, limit: 100 },
  AddGrant: grant,
  DeleteGrant: grant,
  AddRoleBinding: roleBinding,
  DeleteRoleBinding: roleBinding,
  DescribePrincipal: { principal: 'p:ann' },
  DescribeGroup: { group: grant.subject },
}

/** Responses that are not listed may be an empty object. */
export const responseExamples: ResponseExamples = {
  CreateNamespace: { properties },
  ListNamespaces: { namespaces: namespace },
  DescribeNamespace: { properties },
  ListTables: { tables: ['orders'] },
  ListAllTables: { tables: [getIdExample('table')] },
  RegisterTable: { location },
  DescribeTable: { table: 'orders', namespace, location, version: 1, schema },
  DropTable: { id: table, location },
  DeregisterTable: { id: table, location },
  UpdateTableSchemaMetadata: properties,
  ListTableVersions: { versions: [tableVersion] },
  CreateTableVersion: { version: tableVersion },
  DescribeTableVersion: { version: tableVersion },
  BatchDeleteTableVersions: { deleted_count: 1 },
  BatchCreateTableVersions: { versions: [tableVersion] },
  BatchCommitTables: { results: [{ create_table_version: { version: tableVersion } }] },
  AlterTableAlterColumns: commit,
  UpdateFieldMetadata: { ...commit, fields: { [column]: { unit: 'EUR' } } },
  AlterTableDropColumns: commit,
  GetTableStats: {
    total_bytes: 4096,
    num_rows: rows,
    num_indices: 1,
    fragment_stats: {
      num_fragments: 1,
      num_small_fragments: 1,
      lengths: { min: rows, max: rows, mean: rows, p25: rows, p50: rows, p75: rows, p99: rows },
    },
  },
  InsertIntoTable: commit,
  CreateMultipartWrite: multipartWrite,
  CompleteMultipartWrite: commit,
  MergeInsertIntoTable: { ...commit, num_inserted_rows: 1, num_updated_rows: 2, num_deleted_rows: 0 },
  UpdateTable: { ...commit, updated_rows: 2 },
  DeleteFromTable: commit,
  CountTableRows: rows,
  CreateTable: { location, version: 1 },
  ExplainTableQueryPlan: 'LanceRead: uri=lake/sales/orders.lance/data, projection=[id]',
  AnalyzeTableQueryPlan: 'LanceRead: uri=lake/sales/orders.lance/data, metrics=[output_rows=3]',
  AlterTableAddColumns: commit,
  AlterTableBackfillColumns: job,
  ListTableIndices: {
    indexes: [
      { index_name: index, index_uuid: '5d1c', columns: [column], status: 'done', index_type: 'BTREE' },
    ],
  },
  DescribeTableIndexStats: { index_type: 'BTREE', num_indexed_rows: rows, num_unindexed_rows: 0 },
  GetTableRteStats: { rte_stats: { table_shards: [{ shard_id: '5d1c', status: 'Active' }] } },
  GetTableRteSpec: { rte_spec: { sharding: { mode: 'bucket', column: 'id', num_buckets: 16 } } },
  ListTableTags: { tags: { [tag]: { version: 1, manifestSize: 512 } } },
  GetTableTagVersion: { version: 1 },
  DeclareTable: { location, properties },
  ListTableBranches: {
    branches: { [branch]: { parentVersion: 1, createAt: 1_700_000_000, manifestSize: 512 } },
  },
  DescribeTransaction: { status: 'Succeeded', properties },
  AlterTransaction: { status: 'Succeeded', properties },
  RefreshMaterializedView: job,
  DescribeMaterializedView: { source_table: 'orders', source_namespace: namespace, filter: predicate },
  ListMaterializedViews: { views: ['large_orders'] },
  CreateView: view,
  DescribeView: view,
  ListViews: { views: [view.name] },
  CreateFunction: job,
  DescribeFunction: { name: 'total', ...definition },
  DropFunction: { dropped: true },
  ListFunctions: { functions: [{ name: 'total', ...definition }] },
  DescribeSecret: {
    name: 'token',
    created_at_millis: 1_700_000_000_000,
    updated_at_millis: 1_700_000_000_000,
  },
  ListSecrets: { secrets: [{ name: 'token' }] },
  ListJobs: { jobs: [{ ...job, table: 'orders', state: 'IN_PROGRESS' }] },
  DescribeJob: { ...job, job_state: 'DONE' },
  ListGrants: { entries: [{ object: grant.object, subject_id: grant.subject, privilege: grant.privilege }] },
  ListRoleBindings: {
    bindings: [{ subject_id: roleBinding.subject, subject_name: 'Ann', role: roleBinding.role }],
  },
  DescribePrincipal: { principal_id: 'ann', groups: [{ id: 'analysts' }], roles: [roleBinding.role] },
  DescribeGroup: { group_id: 'analysts', principals: [{ id: 'ann', name: 'Ann' }], roles: [] },
  PauseJob: { ...job, paused: true },
  ResumeJob: { ...job, resumed: true },
  DiffTableBranches: diff,
  CherryPickTableBranch: { status: 'ready', diff, preview: { promotedColumns: ['tax'] } },
  ListFunctionErrors: { records: [], fragments: [], truncated: false },
}
