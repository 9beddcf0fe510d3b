import type { z } from 'zod'
import type { DescribedOperation, operationSchemas } from '../../src/backend/schemas/operation-schemas.ts'

/* Examples of requests in the OpenAPI document, which testers send as they are. All are about the table `sales$orders`. */

const table = ['sales', 'orders']
const column = 'amount'
const index = `${column}_idx`
const tag = 'audited'
const branch = 'experiment'
const predicate = `${column} > 100`
const metadata = { owner: 'ann' }
const job = { job_id: 'job-1' }
const grant = { object: 'table:sales:public$orders', subject: 'g:analysts', privilege: 'SELECT' }
const roleBinding = { subject: 'p:ann', role: 'reader' }
const tableVersion = { version: 2, manifest_path: 'lake/sales/orders.lance/_versions/2.manifest' }
const query = { k: 10, vector: { single_vector: [] }, filter: predicate, columns: { column_names: ['id'] } }
const multipartWrite = { upload_id: '0d5f8e1c' }
const definition = { version: 'v1' }

type RequestExamples = {
  readonly [Name in DescribedOperation]?: z.input<(typeof operationSchemas)[Name]['request']>
}

/** Members of the query and of the body; operations that are not listed require none. */
export const requestExamples: RequestExamples = {
  // Without an id in its path, it would have no example at all.
  ListAllTables: { limit: 100 },
  RegisterTable: { location: 'orders.lance' },
  CloneTable: { source_location: 's3://lake/sales/orders.lance' },
  RestoreTable: { version: 1 },
  RenameTable: { new_table_name: 'archived_orders' },
  UpdateTableSchemaMetadata: { metadata },
  CreateTableVersion: tableVersion,
  BatchDeleteTableVersions: { ranges: [{ start_version: 1, end_version: 2 }] },
  BatchCreateTableVersions: { entries: [{ id: table, ...tableVersion }] },
  BatchCommitTables: { operations: [{ create_table_version: { id: table, ...tableVersion } }] },
  AlterTableAlterColumns: { alterations: [{ path: column, rename: 'total' }] },
  UpdateFieldMetadata: { updates: [{ path: column, metadata }] },
  AlterTableDropColumns: { columns: [column] },
  CompleteMultipartWrite: multipartWrite,
  AbortMultipartWrite: multipartWrite,
  MergeInsertIntoTable: { on: ['id'], when_matched_update_all: true },
  UpdateTable: { predicate, updates: [[column, `${column} * 2`]] },
  DeleteFromTable: { predicate },
  QueryTable: query,
  ExplainTableQueryPlan: { query },
  AnalyzeTableQueryPlan: query,
  AlterTableAddColumns: { new_columns: [{ name: 'tax', expression: `${column} * 0.2` }] },
  AlterTableBackfillColumns: { column },
  EnableTableRte: { sharding: { mode: 'bucket', column: 'id', num_buckets: 16 } },
  CreateTableIndex: { column, index_type: 'BTREE', name: index },
  CreateTableScalarIndex: { column, index_type: 'BTREE', name: index },
  GetTableTagVersion: { tag },
  CreateTableTag: { tag, version: 1 },
  DeleteTableTag: { tag },
  UpdateTableTag: { tag, version: 2 },
  CreateTableBranch: { name: branch },
  DeleteTableBranch: { name: branch },
  DiffTableBranches: { from_branch: branch },
  CherryPickTableBranch: { from_branch: branch, dry_run: true },
  FetchTableBlobs: { column, row_ids: [0, 1] },
  AlterTransaction: { actions: [{ setPropertyAction: { key: 'owner', value: 'ann' } }] },
  CreateMaterializedView: { kind: 'query', source_query: 'SELECT id FROM orders', output_schema: '/////w==' },
  CreateView: { query: 'SELECT id FROM orders' },
  CreateFunction: {
    artifact: { kind: 'python', entrypoint: 'total' },
    signature: { inputs: [], output: { kind: 'scalar', arrow_type: 'double' } },
  },
  DescribeFunction: definition,
  DropFunction: definition,
  CreateSecret: { value: 'the value' },
  AlterSecret: { value: 'another value' },
  DescribeJob: job,
  CancelJob: job,
  PauseJob: job,
  ResumeJob: job,
  AddGrant: grant,
  DeleteGrant: grant,
  AddRoleBinding: roleBinding,
  DeleteRoleBinding: roleBinding,
  DescribePrincipal: { principal: 'p:ann' },
  DescribeGroup: { group: grant.subject },
}
