import { sql } from 'kysely'
import type { Logger } from 'pino'
import { CatalogError } from '../catalog-api/catalog-error.ts'
import type { OperationName } from '../catalog-api/operations.ts'
import type { Catalog, CatalogCall, CatalogOperations, Upload } from './contract/catalog.ts'
import type { CatalogContext } from './catalog/context/catalog-context.ts'
import { batchCommitTables, batchCreateTableVersions } from './catalog/batches/commit-batch.ts'
import {
  addColumns,
  alterColumns,
  dropColumns,
  updateFieldMetadata,
} from './catalog/tables/change-columns.ts'
import { deleteFromTable, mergeInsertIntoTable, updateTable } from './catalog/rows/change-rows.ts'
import { createNamespace } from './catalog/namespaces/create-namespace.ts'
import { createTable } from './catalog/tables/create-table.ts'
import { createTableVersion } from './catalog/versions/create-table-version.ts'
import { declareTable } from './catalog/tables/declare-table.ts'
import { batchDeleteTableVersions } from './catalog/versions/delete-versions.ts'
import { deregisterTable } from './catalog/tables/deregister-table.ts'
import { describeNamespace } from './catalog/namespaces/describe-namespace.ts'
import { describeTable, requireTableExists } from './catalog/tables/describe-table.ts'
import { dropNamespace } from './catalog/namespaces/drop-namespace.ts'
import { dropTable } from './catalog/tables/drop-table.ts'
import { listAllTables, listNamespaces, listTables } from './catalog/namespaces/listings.ts'
import { requireNamespace } from './catalog/context/lookup.ts'
import { openCatalogContext } from './catalog/startup/open-catalog.ts'
import { analyzeTableQueryPlan, explainTableQueryPlan } from './catalog/rows/query-plans.ts'
import { registerTable } from './catalog/tables/register-table.ts'
import { renameTable } from './catalog/tables/rename-table.ts'
import { restoreTable } from './catalog/versions/restore-table.ts'
import { countTableRows, insertIntoTable, queryTable } from './catalog/rows/insert-and-query.ts'
import { getTableStats, updateTableSchemaMetadata } from './catalog/tables/table-metadata.ts'
import {
  createTableBranch,
  deleteTableBranch,
  listTableBranches,
} from './catalog/references/table-branches.ts'
import {
  createTableIndex,
  describeTableIndexStats,
  dropTableIndex,
  listTableIndices,
} from './catalog/tables/table-indexes.ts'
import {
  createTableTag,
  deleteTableTag,
  getTableTagVersion,
  listTableTags,
  updateTableTag,
} from './catalog/references/table-tags.ts'
import { describeTableVersion, listTableVersions } from './catalog/versions/table-versions.ts'
import { alterTransaction, describeTransaction } from './catalog/versions/transactions.ts'
import type { EmbeddedSettings } from '../config/backend/backend-settings.ts'
import { openEngine } from './engine/lancedb-engine.ts'
import { openManifestStore } from './engine/manifest/manifest-store.ts'
import { openStorage } from './storage/open-storage.ts'
import { UploadMemory, receiveUpload } from './http/upload-memory.ts'

/** Buffers a whole upload for an engine that cannot stream it, within the memory budget for uploads. */
type ReceiveUpload = <Result>(upload: Upload, use: (bytes: Uint8Array) => Promise<Result>) => Promise<Result>

/** A method whose operation is known only at run time. */
type CatalogMethod = (call: CatalogCall<OperationName>) => Promise<unknown>

/**
 * Opens the catalog on its own storage and repairs the effects of a crash. Rejects if the storage or the store cannot
 * be used.
 */
export async function openEmbeddedCatalog(settings: EmbeddedSettings, log: Logger): Promise<Catalog> {
  const { maxUploadBytes, maxUploadMemoryBytes } = settings.limits
  const opened = await openStorage(settings.data)
  const { storage } = opened
  const engine = openEngine({ storage, decodedUploadBytes: 8 * maxUploadBytes })
  const close = async (): Promise<void> => {
    await engine.close()
    opened.close()
  }
  let parts: CatalogContext
  try {
    parts = await openCatalogContext(settings, opened, engine, openManifestStore(storage), log)
  } catch (error) {
    await close()
    throw error
  }
  const memory = new UploadMemory(maxUploadMemoryBytes)
  const operations = createOperations(parts, (upload, use) =>
    receiveUpload(upload, maxUploadBytes, memory, use),
  )
  return {
    // The compiler cannot relate the name of the operation to the types of its method.
    execute: (name, call) => (operations[name] as CatalogMethod)(call),
    checkReady: async () => {
      await sql`select 1`.execute(parts.database)
    },
    isAlive: () => !engine.isStalled(),
    close: async () => {
      await parts.close()
      await close()
    },
  }
}

function createOperations(parts: CatalogContext, receive: ReceiveUpload): CatalogOperations {
  return {
    CreateNamespace: ({ id, request }) => createNamespace(parts, id, request),
    ListNamespaces: ({ id, request }) => listNamespaces(parts, id, request),
    DescribeNamespace: ({ id }) => describeNamespace(parts, id),
    NamespaceExists: async ({ id }) => {
      await requireNamespace(parts.database, id)
    },
    DropNamespace: ({ id, request }) => dropNamespace(parts, id, request),
    CreateTable: ({ id, request, upload }) =>
      receive(upload, (bytes) => createTable(parts, id, request, bytes)),
    DeclareTable: ({ id, request }) => declareTable(parts, id, request),
    DescribeTable: ({ id, request, schemaDialect }) => describeTable(parts, id, request, schemaDialect),
    TableExists: ({ id, request }) => requireTableExists(parts, id, request),
    ListTables: ({ id, request }) => listTables(parts, id, request),
    ListAllTables: ({ delimiter, request }) => listAllTables(parts, delimiter, request),
    DropTable: ({ id }) => dropTable(parts, id),
    RegisterTable: ({ id, request }) => registerTable(parts, id, request),
    DeregisterTable: ({ id }) => deregisterTable(parts, id),
    RenameTable: ({ id, request }) => renameTable(parts, id, request),
    InsertIntoTable: ({ id, request, upload }) =>
      receive(upload, (bytes) => insertIntoTable(parts, id, request, bytes)),
    QueryTable: ({ id, request }) => queryTable(parts, id, request),
    CountTableRows: ({ id, request }) => countTableRows(parts, id, request),
    MergeInsertIntoTable: ({ id, request, upload }) =>
      receive(upload, (bytes) => mergeInsertIntoTable(parts, id, request, bytes)),
    UpdateTable: ({ id, request }) => updateTable(parts, id, request),
    DeleteFromTable: ({ id, request }) => deleteFromTable(parts, id, request),
    ExplainTableQueryPlan: ({ id, request }) => explainTableQueryPlan(parts, id, request),
    AnalyzeTableQueryPlan: ({ id, request }) => analyzeTableQueryPlan(parts, id, request),
    GetTableStats: ({ id, request }) => getTableStats(parts, id, request),
    UpdateTableSchemaMetadata: ({ id, request }) => updateTableSchemaMetadata(parts, id, request),
    AlterTableAddColumns: ({ id, request }) => addColumns(parts, id, request),
    AlterTableAlterColumns: ({ id, request }) => alterColumns(parts, id, request),
    AlterTableDropColumns: ({ id, request }) => dropColumns(parts, id, request),
    UpdateFieldMetadata: ({ id, request }) => updateFieldMetadata(parts, id, request),
    ListTableVersions: ({ id, request }) => listTableVersions(parts, id, request),
    DescribeTableVersion: ({ id, request }) => describeTableVersion(parts, id, request),
    CreateTableVersion: ({ id, request }) => createTableVersion(parts, id, request),
    BatchCreateTableVersions: ({ request }) => batchCreateTableVersions(parts, request),
    BatchCommitTables: ({ request }) => batchCommitTables(parts, request),
    DescribeTransaction: ({ id }) => describeTransaction(parts, id),
    AlterTransaction: ({ id, request }) => alterTransaction(parts, id, request),
    BatchDeleteTableVersions: ({ id, request }) => batchDeleteTableVersions(parts, id, request),
    RestoreTable: ({ id, request }) => restoreTable(parts, id, request),
    ListTableTags: ({ id, request }) => listTableTags(parts, id, request),
    GetTableTagVersion: ({ id, request }) => getTableTagVersion(parts, id, request),
    CreateTableTag: ({ id, request }) => createTableTag(parts, id, request),
    UpdateTableTag: ({ id, request }) => updateTableTag(parts, id, request),
    DeleteTableTag: ({ id, request }) => deleteTableTag(parts, id, request),
    ListTableBranches: ({ id, request }) => listTableBranches(parts, id, request),
    CreateTableBranch: ({ id, request }) => createTableBranch(parts, id, request),
    DeleteTableBranch: ({ id, request }) => deleteTableBranch(parts, id, request),
    CreateTableIndex: ({ id, request }) => createTableIndex(parts, id, request),
    CreateTableScalarIndex: ({ id, request }) => createTableIndex(parts, id, request),
    ListTableIndices: ({ id, request }) => listTableIndices(parts, id, request),
    DescribeTableIndexStats: ({ id, indexName, request }) =>
      describeTableIndexStats(parts, id, indexName, request),
    DropTableIndex: ({ id, indexName, request }) => dropTableIndex(parts, id, indexName, request),
    AlterTableBackfillColumns: () => throwUnsupported('AlterTableBackfillColumns'),
    CreateMaterializedView: () => throwUnsupported('CreateMaterializedView'),
    RefreshMaterializedView: () => throwUnsupported('RefreshMaterializedView'),
  }
}

async function throwUnsupported(name: OperationName): Promise<never> {
  throw new CatalogError('Unsupported', `this catalog does not support the operation ${name}`)
}
