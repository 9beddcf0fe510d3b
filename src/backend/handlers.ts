import type { Identifier } from '../interface/identifiers.ts'
import type { OperationName } from '../interface/operations.ts'
import type { CatalogParts } from './catalog/catalog-parts.ts'
import { batchCommitTables, batchCreateTableVersions } from './catalog/commit-batch.ts'
import { addColumns, alterColumns, dropColumns, updateFieldMetadata } from './catalog/change-columns.ts'
import { deleteFromTable, mergeInsertIntoTable, updateTable } from './catalog/change-rows.ts'
import { createNamespace } from './catalog/create-namespace.ts'
import { createTable } from './catalog/create-table.ts'
import { createTableVersion } from './catalog/create-table-version.ts'
import { declareTable } from './catalog/declare-table.ts'
import { batchDeleteTableVersions } from './catalog/delete-versions.ts'
import { deregisterTable } from './catalog/deregister-table.ts'
import { describeNamespace } from './catalog/describe-namespace.ts'
import { describeTable, requireTableExists } from './catalog/describe-table.ts'
import { dropNamespace } from './catalog/drop-namespace.ts'
import { dropTable } from './catalog/drop-table.ts'
import { listAllTables, listNamespaces, listTables } from './catalog/list.ts'
import { requireNamespace } from './catalog/lookup.ts'
import { analyzeTableQueryPlan, explainTableQueryPlan } from './catalog/query-plans.ts'
import { registerTable } from './catalog/register-table.ts'
import { renameTable } from './catalog/rename-table.ts'
import { restoreTable } from './catalog/restore-table.ts'
import { countTableRows, insertIntoTable, queryTable } from './catalog/rows.ts'
import { getTableStats, updateTableSchemaMetadata } from './catalog/table-facts.ts'
import { createTableBranch, deleteTableBranch, listTableBranches } from './catalog/table-branches.ts'
import {
  createTableIndex,
  describeTableIndexStats,
  dropTableIndex,
  listTableIndices,
} from './catalog/table-indexes.ts'
import {
  createTableTag,
  deleteTableTag,
  getTableTagVersion,
  listTableTags,
  updateTableTag,
} from './catalog/tags.ts'
import { describeTableVersion, listTableVersions } from './catalog/table-versions.ts'
import { alterTransaction, describeTransaction } from './catalog/transactions.ts'
import type { SchemaDialect } from './engine/engine.ts'
import { readRequest, type Members } from './request-members.ts'

/** A request that was received whole. */
interface Call {
  readonly id: Identifier
  /** Empty where the route names no index. */
  readonly indexName: string
  /** What joins the parts of an id in this request. */
  readonly delimiter: string
  readonly members: Members
  /** The Arrow body; empty for operations without one. */
  readonly upload: Uint8Array
  readonly schemaDialect: SchemaDialect
}

/**
 * What answers an operation: JSON, the chunks of an Arrow file, or nothing, as the table of operations says.
 * Throws InterfaceError.
 */
type Handler = (catalog: CatalogParts, call: Call) => Promise<unknown>

/** The operations that this catalog has. Every other one is answered with Unsupported (406). */
export const handlers: Readonly<Partial<Record<OperationName, Handler>>> = {
  CreateNamespace: (catalog, { id, members }) =>
    createNamespace(catalog, id, readRequest('CreateNamespace', members)),
  ListNamespaces: (catalog, { id, members }) =>
    listNamespaces(catalog, id, readRequest('ListNamespaces', members)),
  DescribeNamespace: (catalog, { id, members }) => {
    readRequest('DescribeNamespace', members)
    return describeNamespace(catalog, id)
  },
  NamespaceExists: async (catalog, { id, members }) => {
    readRequest('NamespaceExists', members)
    await requireNamespace(catalog.database, id)
  },
  DropNamespace: (catalog, { id, members }) =>
    dropNamespace(catalog, id, readRequest('DropNamespace', members)),
  CreateTable: (catalog, { id, members, upload }) =>
    createTable(catalog, id, readRequest('CreateTable', members), upload),
  DeclareTable: (catalog, { id, members }) => declareTable(catalog, id, readRequest('DeclareTable', members)),
  DescribeTable: (catalog, { id, members, schemaDialect }) =>
    describeTable(catalog, id, readRequest('DescribeTable', members), schemaDialect),
  TableExists: (catalog, { id, members }) =>
    requireTableExists(catalog, id, readRequest('TableExists', members)),
  ListTables: (catalog, { id, members }) => listTables(catalog, id, readRequest('ListTables', members)),
  ListAllTables: (catalog, { delimiter, members }) =>
    listAllTables(catalog, delimiter, readRequest('ListAllTables', members)),
  DropTable: (catalog, { id, members }) => {
    readRequest('DropTable', members)
    return dropTable(catalog, id)
  },
  RegisterTable: (catalog, { id, members }) =>
    registerTable(catalog, id, readRequest('RegisterTable', members)),
  DeregisterTable: (catalog, { id, members }) => {
    readRequest('DeregisterTable', members)
    return deregisterTable(catalog, id)
  },
  RenameTable: (catalog, { id, members }) => renameTable(catalog, id, readRequest('RenameTable', members)),
  InsertIntoTable: (catalog, { id, members, upload }) =>
    insertIntoTable(catalog, id, readRequest('InsertIntoTable', members), upload),
  QueryTable: (catalog, { id, members }) => queryTable(catalog, id, readRequest('QueryTable', members)),
  CountTableRows: (catalog, { id, members }) =>
    countTableRows(catalog, id, readRequest('CountTableRows', members)),
  MergeInsertIntoTable: (catalog, { id, members, upload }) =>
    mergeInsertIntoTable(catalog, id, readRequest('MergeInsertIntoTable', members), upload),
  UpdateTable: (catalog, { id, members }) => updateTable(catalog, id, readRequest('UpdateTable', members)),
  DeleteFromTable: (catalog, { id, members }) =>
    deleteFromTable(catalog, id, readRequest('DeleteFromTable', members)),
  ExplainTableQueryPlan: (catalog, { id, members }) =>
    explainTableQueryPlan(catalog, id, readRequest('ExplainTableQueryPlan', members)),
  AnalyzeTableQueryPlan: (catalog, { id, members }) =>
    analyzeTableQueryPlan(catalog, id, readRequest('AnalyzeTableQueryPlan', members)),
  GetTableStats: (catalog, { id, members }) =>
    getTableStats(catalog, id, readRequest('GetTableStats', members)),
  UpdateTableSchemaMetadata: (catalog, { id, members }) =>
    updateTableSchemaMetadata(catalog, id, readRequest('UpdateTableSchemaMetadata', members)),
  AlterTableAddColumns: (catalog, { id, members }) =>
    addColumns(catalog, id, readRequest('AlterTableAddColumns', members)),
  AlterTableAlterColumns: (catalog, { id, members }) =>
    alterColumns(catalog, id, readRequest('AlterTableAlterColumns', members)),
  AlterTableDropColumns: (catalog, { id, members }) =>
    dropColumns(catalog, id, readRequest('AlterTableDropColumns', members)),
  UpdateFieldMetadata: (catalog, { id, members }) =>
    updateFieldMetadata(catalog, id, readRequest('UpdateFieldMetadata', members)),
  ListTableVersions: (catalog, { id, members }) =>
    listTableVersions(catalog, id, readRequest('ListTableVersions', members)),
  DescribeTableVersion: (catalog, { id, members }) =>
    describeTableVersion(catalog, id, readRequest('DescribeTableVersion', members)),
  CreateTableVersion: (catalog, { id, members }) =>
    createTableVersion(catalog, id, readRequest('CreateTableVersion', members)),
  BatchCreateTableVersions: (catalog, { members }) =>
    batchCreateTableVersions(catalog, readRequest('BatchCreateTableVersions', members)),
  BatchCommitTables: (catalog, { members }) =>
    batchCommitTables(catalog, readRequest('BatchCommitTables', members)),
  DescribeTransaction: (catalog, { id, members }) => {
    readRequest('DescribeTransaction', members)
    return describeTransaction(catalog, id)
  },
  AlterTransaction: (catalog, { id, members }) =>
    alterTransaction(catalog, id, readRequest('AlterTransaction', members)),
  BatchDeleteTableVersions: (catalog, { id, members }) =>
    batchDeleteTableVersions(catalog, id, readRequest('BatchDeleteTableVersions', members)),
  RestoreTable: (catalog, { id, members }) => restoreTable(catalog, id, readRequest('RestoreTable', members)),
  ListTableTags: (catalog, { id, members }) =>
    listTableTags(catalog, id, readRequest('ListTableTags', members)),
  GetTableTagVersion: (catalog, { id, members }) =>
    getTableTagVersion(catalog, id, readRequest('GetTableTagVersion', members)),
  CreateTableTag: (catalog, { id, members }) =>
    createTableTag(catalog, id, readRequest('CreateTableTag', members)),
  UpdateTableTag: (catalog, { id, members }) =>
    updateTableTag(catalog, id, readRequest('UpdateTableTag', members)),
  DeleteTableTag: (catalog, { id, members }) =>
    deleteTableTag(catalog, id, readRequest('DeleteTableTag', members)),
  ListTableBranches: (catalog, { id, members }) =>
    listTableBranches(catalog, id, readRequest('ListTableBranches', members)),
  CreateTableBranch: (catalog, { id, members }) =>
    createTableBranch(catalog, id, readRequest('CreateTableBranch', members)),
  DeleteTableBranch: (catalog, { id, members }) =>
    deleteTableBranch(catalog, id, readRequest('DeleteTableBranch', members)),
  CreateTableIndex: (catalog, { id, members }) =>
    createTableIndex(catalog, id, readRequest('CreateTableIndex', members)),
  CreateTableScalarIndex: (catalog, { id, members }) =>
    createTableIndex(catalog, id, readRequest('CreateTableScalarIndex', members)),
  ListTableIndices: (catalog, { id, members }) =>
    listTableIndices(catalog, id, readRequest('ListTableIndices', members)),
  DescribeTableIndexStats: (catalog, { id, indexName, members }) =>
    describeTableIndexStats(catalog, id, indexName, readRequest('DescribeTableIndexStats', members)),
  DropTableIndex: (catalog, { id, indexName, members }) =>
    dropTableIndex(catalog, id, indexName, readRequest('DropTableIndex', members)),
}
