import { sql } from 'kysely'
import type { Logger } from 'pino'
import { CatalogError, type OperationName } from 'catalog-gateway/catalog-api'
import type { CatalogCall, CatalogOperations, Upload } from './catalog/catalog-call.ts'
import type { CatalogContext } from './catalog/context.ts'
import { batchCommitTables, batchCreateTableVersions } from './catalog/commit-batch.ts'
import * as columns from './catalog/columns.ts'
import * as rows from './catalog/rows.ts'
import { cancelJob, describeJob, listJobs, queryJobEvents } from './catalog/jobs.ts'
import { JobRunner } from './catalog/job-runner.ts'
import * as namespaces from './catalog/namespaces.ts'
import { createTable } from './catalog/create-table.ts'
import { createTableVersion } from './catalog/create-version.ts'
import * as tables from './catalog/tables.ts'
import { batchDeleteTableVersions } from './catalog/delete-versions.ts'
import { deregisterTable, registerTable } from './catalog/register-table.ts'
import { requireNamespace } from './catalog/find-table.ts'
import { markFileName, openCatalogContext } from './catalog/open-context.ts'
import * as versions from './catalog/versions.ts'
import * as references from './catalog/references.ts'
import * as indexes from './catalog/indexes.ts'
import type { BackendSettings } from './settings/backend-settings.ts'
import type { Outbound } from 'catalog-gateway/outbound'
import { openEngine } from './engine/lancedb-engine.ts'
import { MemoryBudget, readBody } from './http/request-body.ts'
import { openManifestStore } from './engine/manifest/manifest-store.ts'
import { openStorage } from './storage/open-storage.ts'
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
    AlterTableBackfillColumns: columns.createBackfillWork(context),
    CreateTableIndex: indexes.createIndexWork(context),
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
    CreateNamespace: ({ id, request }) => namespaces.createNamespace(context, id, request),
    ListNamespaces: ({ id, request }) => namespaces.listNamespaces(context, id, request),
    DescribeNamespace: ({ id }) => namespaces.describeNamespace(context, id),
    NamespaceExists: async ({ id }) => {
      await requireNamespace(context.database, id)
    },
    DropNamespace: ({ id, request }) => namespaces.dropNamespace(context, id, request),
    CreateTable: ({ id, request, upload }) =>
      receive(upload, (bytes) => createTable(context, id, request, bytes)),
    DeclareTable: ({ id, request }) => tables.declareTable(context, id, request),
    DescribeTable: ({ id, request, schemaDialect }) =>
      tables.describeTable(context, id, request, schemaDialect),
    TableExists: ({ id, request }) => tables.requireTableExists(context, id, request),
    ListTables: ({ id, request }) => namespaces.listTables(context, id, request),
    ListAllTables: ({ delimiter, request }) => namespaces.listAllTables(context, delimiter, request),
    DropTable: ({ id }) => tables.dropTable(context, id),
    RegisterTable: ({ id, request }) => registerTable(context, id, request),
    DeregisterTable: ({ id }) => deregisterTable(context, id),
    RenameTable: ({ id, request }) => tables.renameTable(context, id, request),
    InsertIntoTable: ({ id, request, upload }) =>
      receive(upload, (bytes) => rows.insertIntoTable(context, id, request, bytes)),
    QueryTable: ({ id, request }) => rows.queryTable(context, id, request),
    CountTableRows: ({ id, request }) => rows.countTableRows(context, id, request),
    MergeInsertIntoTable: ({ id, request, upload }) =>
      receive(upload, (bytes) => rows.mergeInsertIntoTable(context, id, request, bytes)),
    UpdateTable: ({ id, request }) => rows.updateTable(context, id, request),
    DeleteFromTable: ({ id, request }) => rows.deleteFromTable(context, id, request),
    ExplainTableQueryPlan: ({ id, request }) => rows.explainTableQueryPlan(context, id, request),
    AnalyzeTableQueryPlan: ({ id, request }) => rows.analyzeTableQueryPlan(context, id, request),
    GetTableStats: ({ id, request }) => tables.getTableStats(context, id, request),
    UpdateTableSchemaMetadata: ({ id, request }) => tables.updateTableSchemaMetadata(context, id, request),
    AlterTableAddColumns: ({ id, request, upload }) =>
      upload === undefined
        ? columns.addColumns(context, id, request)
        : receive(upload, (bytes) => columns.addNullColumns(context, id, request.branch, bytes)),
    AlterTableAlterColumns: ({ id, request }) => columns.alterColumns(context, id, request),
    AlterTableDropColumns: ({ id, request }) => columns.dropColumns(context, id, request),
    UpdateFieldMetadata: ({ id, request }) => columns.updateFieldMetadata(context, id, request),
    ListTableVersions: ({ id, request }) => versions.listTableVersions(context, id, request),
    DescribeTableVersion: ({ id, request }) => versions.describeTableVersion(context, id, request),
    CreateTableVersion: ({ id, request }) => createTableVersion(context, id, request),
    BatchCreateTableVersions: ({ request }) => batchCreateTableVersions(context, request),
    BatchCommitTables: ({ request }) => batchCommitTables(context, request),
    DescribeTransaction: ({ id }) => versions.describeTransaction(context, id),
    BatchDeleteTableVersions: ({ id, request }) => batchDeleteTableVersions(context, id, request),
    RestoreTable: ({ id, request }) => versions.restoreTable(context, id, request),
    ListTableTags: ({ id, request }) => references.listTableTags(context, id, request),
    GetTableTagVersion: ({ id, request }) => references.getTableTagVersion(context, id, request),
    CreateTableTag: ({ id, request }) => references.createTableTag(context, id, request),
    UpdateTableTag: ({ id, request }) => references.updateTableTag(context, id, request),
    DeleteTableTag: ({ id, request }) => references.deleteTableTag(context, id, request),
    ListTableBranches: ({ id, request }) => references.listTableBranches(context, id, request),
    CreateTableBranch: ({ id, request }) => references.createTableBranch(context, id, request),
    DeleteTableBranch: ({ id, request }) => references.deleteTableBranch(context, id, request),
    CreateTableIndex: ({ id, request }) => indexes.createTableIndex(context, jobs, id, request),
    CreateTableScalarIndex: ({ id, request }) => indexes.createTableIndex(context, jobs, id, request),
    ListTableIndices: ({ id, request }) => indexes.listTableIndices(context, id, request),
    DescribeTableIndexStats: ({ id, indexName, request }) =>
      indexes.describeTableIndexStats(context, id, indexName, request),
    DropTableIndex: ({ id, indexName, request }) => indexes.dropTableIndex(context, id, indexName, request),
    PrewarmTableIndex: ({ id, indexName }) => indexes.prewarmTableIndex(context, id, indexName),
    PrewarmTableData: ({ id }) => indexes.prewarmTableData(context, id),
    AlterTableBackfillColumns: ({ id, request }) => columns.backfillColumns(context, jobs, id, request),
    ListJobs: ({ delimiter, request }) => listJobs(context, delimiter, request),
    DescribeJob: ({ request }) => describeJob(context, request),
    CancelJob: ({ request }) => cancelJob(context, request),
    QueryJobEvents: ({ request }) => queryJobEvents(context, request),
  }
}
