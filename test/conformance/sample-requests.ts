import type { OperationName } from '../../src/catalog-api/operations.ts'
import type { Parts } from './catalog-client.ts'
import { rows } from './sample-rows.ts'

const tagged = { tag: 'a_tag', version: 1 }
const index = { column: 'id', index_type: 'BTREE' }

/**
 * The minimal parts of a request besides its id, per operation; operations without an entry need none. They are meant
 * for missing objects: sent for an existing one, they may change it.
 */
export const sampleRequests: Partial<Record<OperationName, Parts>> = {
  RegisterTable: { body: { location: 'not_there.lance' } },
  CloneTable: { body: { source_location: 'not_there.lance' } },
  RestoreTable: { body: { version: 1 } },
  RenameTable: { body: { new_table_name: 'renamed' } },
  UpdateTableSchemaMetadata: { body: { owner: 'ann' } },
  CreateTableVersion: { body: { version: 2, manifest_path: 'not/there.lance/_versions/2.manifest-1' } },
  BatchDeleteTableVersions: { body: { ranges: [{ start_version: 1, end_version: 2 }] } },
  AlterTableAlterColumns: { body: { alterations: [{ path: 'name', nullable: true }] } },
  UpdateFieldMetadata: { body: { updates: [{ path: 'id', metadata: { unit: 'm' } }] } },
  AlterTableDropColumns: { body: { columns: ['name'] } },
  InsertIntoTable: { body: rows(1) },
  CompleteMultipartWrite: { query: { upload_id: 'upload' } },
  AbortMultipartWrite: { query: { upload_id: 'upload' } },
  MergeInsertIntoTable: { body: rows(1), query: { on: 'id' } },
  UpdateTable: { body: { updates: [['id', '1']] } },
  DeleteFromTable: { body: { predicate: 'id = 1' } },
  QueryTable: { body: { k: 1, vector: { single_vector: [] } } },
  CreateTable: { body: rows(1) },
  ExplainTableQueryPlan: { body: { query: { k: 1, vector: { single_vector: [] } } } },
  AnalyzeTableQueryPlan: { body: { k: 1, vector: { single_vector: [] } } },
  AlterTableAddColumns: { body: { new_columns: [{ name: 'one', expression: '1' }] } },
  AlterTableBackfillColumns: { body: { column: 'one' } },
  CreateMaterializedView: {
    body: { kind: 'query', source_query: 'SELECT * FROM conformance_absent', output_schema: '' },
  },
  CreateView: { body: { query: 'select 1' } },
  CreateFunction: { body: { artifact: {}, signature: {}, runtime: {} } },
  DescribeFunction: { body: { version: 'v1' } },
  DropFunction: { body: { version: 'v1' } },
  CreateSecret: { body: { value: 'x' } },
  AlterSecret: { body: { value: 'y' } },
  DescribeJob: { body: { job_id: 'job' } },
  CancelJob: { body: { job_id: 'job' } },
  AddGrant: { body: { object: 'table:db:public$t', subject: 'g:readers', privilege: 'SELECT' } },
  DeleteGrant: { body: { object: 'table:db:public$t', subject: 'g:readers', privilege: 'SELECT' } },
  AddRoleBinding: { body: { subject: 'p:ann', role: 'reader' } },
  DeleteRoleBinding: { body: { subject: 'p:ann', role: 'reader' } },
  DescribePrincipal: { body: { principal: 'p:ann' } },
  DescribeGroup: { body: { group: 'g:readers' } },
  PauseJob: { body: { job_id: 'job' } },
  ResumeJob: { body: { job_id: 'job' } },
  CreateTableIndex: { body: index },
  CreateTableScalarIndex: { body: index },
  EnableTableRte: { body: { sharding: { mode: 'unsharded' } } },
  GetTableTagVersion: { body: { tag: 'a_tag' } },
  CreateTableTag: { body: tagged },
  DeleteTableTag: { body: { tag: 'a_tag' } },
  UpdateTableTag: { body: tagged },
  CreateTableBranch: { body: { name: 'a_branch' } },
  FetchTableBlobs: { body: { column: 'image', row_ids: [0] } },
  DiffTableBranches: { body: { from_branch: 'a_branch' } },
  CherryPickTableBranch: { body: { from_branch: 'a_branch' } },
  DeleteTableBranch: { body: { name: 'a_branch' } },
  AlterTransaction: { body: { actions: [{ setPropertyAction: { key: 'owner', value: 'ann' } }] } },
}
