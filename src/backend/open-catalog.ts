import { sql } from 'kysely'
import type { Logger } from 'pino'
import { CatalogError, type OperationName } from 'catalog-gateway/catalog-api'
import type { CatalogCall, CatalogOperations, Upload } from './catalog/catalog-call.ts'
import type { CatalogContext } from './catalog/context/catalog-context.ts'
import { batchCommitTables, batchCreateTableVersions } from './catalog/batches/commit-batch.ts'
import {
  addColumns,
  addNullColumns,
  alterColumns,
  dropColumns,
  updateFieldMetadata,
} from './catalog/tables/change-columns.ts'
import { deleteFromTable, mergeInsertIntoTable, updateTable } from './catalog/rows/change-rows.ts'
import { backfillColumns, createBackfillWork } from './catalog/jobs/backfill-columns.ts'
import { cancelJob, describeJob, listJobs } from './catalog/jobs/job-operations.ts'
import { queryJobEvents } from './catalog/jobs/job-events.ts'
import { JobRunner } from './catalog/jobs/job-runner.ts'
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
import { requireNamespace } from './catalog/context/require-objects.ts'
import { markFileName } from './catalog/startup/claim-storage.ts'
import { openCatalogContext } from './catalog/startup/open-catalog-context.ts'
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
  createIndexWork,
  createTableIndex,
  describeTableIndexStats,
  dropTableIndex,
  listTableIndices,
  prewarmTableData,
  prewarmTableIndex,
} from './catalog/tables/table-indexes.ts'
import {
  createTableTag,
  deleteTableTag,
  getTableTagVersion,
  listTableTags,
  updateTableTag,
} from './catalog/references/table-tags.ts'
import { describeTableVersion, listTableVersions } from './catalog/versions/table-versions.ts'
import { describeTransaction } from './catalog/versions/transactions.ts'
import type { BackendSettings } from './settings/backend-settings.ts'
import type { Outbound } from 'catalog-gateway/lib'
import { openEngine } from './engine/lancedb-engine.ts'
import { MemoryBudget } from './engine/memory-budget.ts'
import { openManifestStore } from './engine/manifest/manifest-store.ts'
import { openStorage } from './storage/open-storage.ts'
import { readBody } from './http/request-body.ts'
import { unsupportedOperations } from './unsupported-operations.ts'

/** Buffers a whole upload for an engine that cannot stream it, within the memory budget. */
type ReceiveUpload = <Result>(upload: Upload, use: (bytes: Uint8Array) => Promise<Result>) => Promise<Result>

/** A method whose operation is known only at run time. */
type CatalogMethod = (call: CatalogCall<OperationName>) => Promise<unknown>

/** Executes checked requests. Does not depend on HTTP or routes. */
export interface Catalog {
  /** Resolves with JSON members, the chunks of Arrow IPC data, or nothing. Throws CatalogError. */
  execute(name: OperationName, call: CatalogCall<OperationName>): Promise<unknown>
  /** Rejects if requests cannot be served now. */
  checkReady(): Promise<void>
  /** False if the catalog has made no progress for so long that only a restart helps. */
  isAlive(): boolean
  /** Releases all resources after the active requests have ended. */
  close(): Promise<void>
}

/** Repairs the effects of a crash while it serves requests. Rejects if the storage or the database cannot be used. */
export async function openCatalog(
  settings: BackendSettings,
  log: Logger,
  outbound: Outbound,
): Promise<Catalog> {
  const { maxUploadBytes, maxUploadMemoryBytes } = settings.limits
  const opened = await openStorage(settings.data, outbound)
  const { storage } = opened
  const engine = openEngine({ storage, decodedUploadBytes: 8 * maxUploadBytes })
  const close = async (): Promise<void> => {
    await engine.close()
    opened.close()
  }
  let context: CatalogContext
  try {
    const manifests = openManifestStore(storage)
    context = await openCatalogContext(settings, opened, engine, manifests, log, outbound.follow)
  } catch (error) {
    await close()
    throw error
  }
  const memory = new MemoryBudget(maxUploadMemoryBytes)
  const jobs = new JobRunner(context, {
    AlterTableBackfillColumns: createBackfillWork(context),
    CreateTableIndex: createIndexWork(context),
  })
  const operations = createOperations(context, jobs, (upload, use) =>
    memory.run(async (reserve) =>
      use(await readBody(upload, { setting: 'maxUploadBytes', maxBytes: maxUploadBytes }, reserve)),
    ),
  )
  return {
    // The compiler cannot relate the name of the operation to the types of its method.
    execute: async (name, call) => {
      if (isUnsupported(name))
        throw new CatalogError('Unsupported', `this catalog does not support the operation ${name}`)
      return await (operations[name] as CatalogMethod)(call)
    },
    checkReady: async () => {
      await sql`select 1`.execute(context.database)
      if ((await context.storage.stat(`${context.root}/${markFileName}`)) === undefined)
        throw new CatalogError('ServiceUnavailable', 'the storage of the tables is not there')
    },
    isAlive: () => !engine.isStalled(),
    close: async () => {
      await jobs.close()
      await context.close()
      await close()
    },
  }
}

type UnsupportedOperation = (typeof unsupportedOperations)[number]

function isUnsupported(name: OperationName): name is UnsupportedOperation {
  return (unsupportedOperations as readonly OperationName[]).includes(name)
}

function createOperations(
  context: CatalogContext,
  jobs: JobRunner,
  receive: ReceiveUpload,
): Omit<CatalogOperations, UnsupportedOperation> {
  return {
    CreateNamespace: ({ id, request }) => createNamespace(context, id, request),
    ListNamespaces: ({ id, request }) => listNamespaces(context, id, request),
    DescribeNamespace: ({ id }) => describeNamespace(context, id),
    NamespaceExists: async ({ id }) => {
      await requireNamespace(context.database, id)
    },
    DropNamespace: ({ id, request }) => dropNamespace(context, id, request),
    CreateTable: ({ id, request, upload }) =>
      receive(upload, (bytes) => createTable(context, id, request, bytes)),
    DeclareTable: ({ id, request }) => declareTable(context, id, request),
    DescribeTable: ({ id, request, schemaDialect }) => describeTable(context, id, request, schemaDialect),
    TableExists: ({ id, request }) => requireTableExists(context, id, request),
    ListTables: ({ id, request }) => listTables(context, id, request),
    ListAllTables: ({ delimiter, request }) => listAllTables(context, delimiter, request),
    DropTable: ({ id }) => dropTable(context, id),
    RegisterTable: ({ id, request }) => registerTable(context, id, request),
    DeregisterTable: ({ id }) => deregisterTable(context, id),
    RenameTable: ({ id, request }) => renameTable(context, id, request),
    InsertIntoTable: ({ id, request, upload }) =>
      receive(upload, (bytes) => insertIntoTable(context, id, request, bytes)),
    QueryTable: ({ id, request }) => queryTable(context, id, request),
    CountTableRows: ({ id, request }) => countTableRows(context, id, request),
    MergeInsertIntoTable: ({ id, request, upload }) =>
      receive(upload, (bytes) => mergeInsertIntoTable(context, id, request, bytes)),
    UpdateTable: ({ id, request }) => updateTable(context, id, request),
    DeleteFromTable: ({ id, request }) => deleteFromTable(context, id, request),
    ExplainTableQueryPlan: ({ id, request }) => explainTableQueryPlan(context, id, request),
    AnalyzeTableQueryPlan: ({ id, request }) => analyzeTableQueryPlan(context, id, request),
    GetTableStats: ({ id, request }) => getTableStats(context, id, request),
    UpdateTableSchemaMetadata: ({ id, request }) => updateTableSchemaMetadata(context, id, request),
    AlterTableAddColumns: ({ id, request, upload }) =>
      upload === undefined
        ? addColumns(context, id, request)
        : receive(upload, (bytes) => addNullColumns(context, id, request.branch, bytes)),
    AlterTableAlterColumns: ({ id, request }) => alterColumns(context, id, request),
    AlterTableDropColumns: ({ id, request }) => dropColumns(context, id, request),
    UpdateFieldMetadata: ({ id, request }) => updateFieldMetadata(context, id, request),
    ListTableVersions: ({ id, request }) => listTableVersions(context, id, request),
    DescribeTableVersion: ({ id, request }) => describeTableVersion(context, id, request),
    CreateTableVersion: ({ id, request }) => createTableVersion(context, id, request),
    BatchCreateTableVersions: ({ request }) => batchCreateTableVersions(context, request),
    BatchCommitTables: ({ request }) => batchCommitTables(context, request),
    DescribeTransaction: ({ id }) => describeTransaction(context, id),
    BatchDeleteTableVersions: ({ id, request }) => batchDeleteTableVersions(context, id, request),
    RestoreTable: ({ id, request }) => restoreTable(context, id, request),
    ListTableTags: ({ id, request }) => listTableTags(context, id, request),
    GetTableTagVersion: ({ id, request }) => getTableTagVersion(context, id, request),
    CreateTableTag: ({ id, request }) => createTableTag(context, id, request),
    UpdateTableTag: ({ id, request }) => updateTableTag(context, id, request),
    DeleteTableTag: ({ id, request }) => deleteTableTag(context, id, request),
    ListTableBranches: ({ id, request }) => listTableBranches(context, id, request),
    CreateTableBranch: ({ id, request }) => createTableBranch(context, id, request),
    DeleteTableBranch: ({ id, request }) => deleteTableBranch(context, id, request),
    CreateTableIndex: ({ id, request }) => createTableIndex(context, jobs, id, request),
    CreateTableScalarIndex: ({ id, request }) => createTableIndex(context, jobs, id, request),
    ListTableIndices: ({ id, request }) => listTableIndices(context, id, request),
    DescribeTableIndexStats: ({ id, indexName, request }) =>
      describeTableIndexStats(context, id, indexName, request),
    DropTableIndex: ({ id, indexName, request }) => dropTableIndex(context, id, indexName, request),
    PrewarmTableIndex: ({ id, indexName }) => prewarmTableIndex(context, id, indexName),
    PrewarmTableData: ({ id }) => prewarmTableData(context, id),
    AlterTableBackfillColumns: ({ id, request }) => backfillColumns(context, jobs, id, request),
    ListJobs: ({ delimiter, request }) => listJobs(context, delimiter, request),
    DescribeJob: ({ request }) => describeJob(context, request),
    CancelJob: ({ request }) => cancelJob(context, request),
    QueryJobEvents: ({ request }) => queryJobEvents(context, request),
  }
}
