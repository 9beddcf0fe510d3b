import type { FactName, FactSourcePath } from '../../src/catalog-api/facts.ts'
import { operationNames, type OperationName } from '../../src/catalog-api/operations.ts'

/** Facts of an operation with their sources in a request. */
export type DocumentedFacts = { readonly [Name in FactName]?: readonly FactSourcePath[] }

const branch: DocumentedFacts = { branch: ['body.branch'] }
// Arrow requests and requests without a body have the branch in the query; clients also send it in a JSON body.
const branchInEither: DocumentedFacts = { branch: ['query.branch', 'body.branch'] }
// An explained query is nested, an analyzed one is not; clients send both forms to both operations.
const branchOfQuery: DocumentedFacts = { branch: ['body.branch', 'body.query.branch'] }

/** Facts of the operations that have any, written by hand rather than derived from the table. */
const written: { readonly [Name in OperationName]?: DocumentedFacts } = {
  CreateNamespace: {
    mode: ['body.mode'],
    properties: ['body.properties'],
    location: ['properties.location'],
  },
  DropNamespace: { mode: ['body.mode'], behavior: ['body.behavior'] },
  RegisterTable: {
    location: ['body.location', 'properties.location'],
    mode: ['body.mode'],
    properties: ['body.properties'],
  },
  DescribeTable: { tag: ['body.tag'], branch: ['body.branch'], vendCredentials: ['body.vend_credentials'] },
  RestoreTable: branch,
  // LanceDB sends the second namespace name.
  RenameTable: {
    newName: ['body.new_table_name'],
    newNamespace: ['body.new_namespace_id', 'body.new_namespace'],
  },
  UpdateTableSchemaMetadata: { branch: ['query.branch'] },
  ListTableVersions: branchInEither,
  CreateTableVersion: { ...branch, manifestPath: ['body.manifest_path'], metadata: ['body.metadata'] },
  DescribeTableVersion: branch,
  BatchDeleteTableVersions: branch,
  AlterTableAlterColumns: branch,
  UpdateFieldMetadata: branch,
  AlterTableDropColumns: branch,
  GetTableStats: branch,
  InsertIntoTable: { branch: ['query.branch'], mode: ['query.mode'] },
  // The mode is stated with each part, and nowhere else.
  CreateMultipartWrite: branchInEither,
  CompleteMultipartWrite: branchInEither,
  AbortMultipartWrite: branchInEither,
  MergeInsertIntoTable: {
    branch: ['query.branch'],
    deletesUnmatched: ['query.when_not_matched_by_source_delete'],
  },
  UpdateTable: { ...branch, properties: ['body.properties'], location: ['properties.location'] },
  DeleteFromTable: branch,
  QueryTable: branch,
  FetchTableBlobs: branch,
  GetTableBlob: { branch: ['query.branch'] },
  CountTableRows: branch,
  CreateTable: {
    mode: ['query.mode'],
    properties: ['query.properties', 'header.properties'],
    storageOptions: ['query.storage_options'],
    location: ['header.location', 'properties.location'],
  },
  ExplainTableQueryPlan: branchOfQuery,
  AnalyzeTableQueryPlan: branchOfQuery,
  AlterTableAddColumns: branchInEither,
  AlterTableBackfillColumns: branch,
  CreateTableIndex: branch,
  CreateTableScalarIndex: branch,
  ListTableIndices: branch,
  DescribeTableIndexStats: branch,
  DropTableIndex: branchInEither,
  GetTableTagVersion: { tag: ['body.tag'] },
  DeclareTable: {
    location: ['body.location', 'properties.location'],
    vendCredentials: ['body.vend_credentials'],
    properties: ['body.properties'],
  },
  CreateTableTag: { ...branch, tag: ['body.tag'] },
  DeleteTableTag: { tag: ['body.tag'] },
  UpdateTableTag: { ...branch, tag: ['body.tag'] },
  CreateTableBranch: { branch: ['body.name'], sourceBranch: ['body.from_branch'] },
  DeleteTableBranch: { branch: ['body.name'] },
  // The target is main: clients send no other.
  DiffTableBranches: { sourceBranch: ['body.from_branch'] },
  CherryPickTableBranch: { sourceBranch: ['body.from_branch'] },
  ListFunctionErrors: branch,
}

export const documentedFacts = Object.fromEntries(
  operationNames.map((name) => [name, written[name] ?? {}]),
) as Readonly<Record<OperationName, DocumentedFacts>>

/** Operations whose branch is unknown, always or if they state that fact, according to the policy reference. */
export const unknownBranches: { readonly [Name in OperationName]?: 'always' | FactName } = {
  DropTable: 'always',
  PrewarmTableIndex: 'always',
  PrewarmTableData: 'always',
  EnableTableRte: 'always',
  DisableTableRte: 'always',
  FlushTableRte: 'always',
  CompactTableRte: 'always',
  GetTableRteStats: 'always',
  GetTableRteSpec: 'always',
  DeregisterTable: 'always',
  RegisterTable: 'always',
  CloneTable: 'always',
  RenameTable: 'always',
  UpdateTable: 'properties',
  UpdateTableTag: 'always',
  DeleteTableTag: 'always',
  CreateMaterializedView: 'always',
  RefreshMaterializedView: 'always',
  DropMaterializedView: 'always',
  CreateView: 'always',
  DropView: 'always',
  DescribeTransaction: 'always',
  AlterTransaction: 'always',
  GetTableTagVersion: 'always',
  DescribeTable: 'tag',
}

/** Operations of batch entries by the member that holds them; `entries` holds a single kind. */
export const documentedEntries = {
  BatchCreateTableVersions: { entries: 'CreateTableVersion' },
  BatchCommitTables: {
    declare_table: 'DeclareTable',
    create_table_version: 'CreateTableVersion',
    delete_table_versions: 'BatchDeleteTableVersions',
    deregister_table: 'DeregisterTable',
  },
} as const satisfies { readonly [Name in OperationName]?: Readonly<Record<string, OperationName>> }
