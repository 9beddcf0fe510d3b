import { LRUCache } from 'lru-cache'
import { CatalogError, type TableQuery } from 'catalog-gateway/catalog-api'
import { localFileStorage } from '../storage/local-storage.ts'
import type { Storage } from '../storage/storage.ts'
import { joinFiles, streamToFile } from './arrow/arrow-file.ts'
import type { UploadedFile } from './arrow/arrow-file.ts'
import { readFileSchema } from './arrow/arrow-frames.ts'
import { openColumns } from './tables/columns.ts'
import { assertUploadNotComputed } from './tables/computed-columns.ts'
import { castDictionaryColumns } from './query/dictionary-columns.ts'
import type { CountOptions, DescribeOptions, Engine, TableDescription } from './engine.ts'
import type { TablePoint } from './table-point.ts'
import { withCatalogErrors, withUploadErrors } from './native/native-errors.ts'
import { openIndexes } from './tables/indexes.ts'
import { readVersionManifest } from './manifest/manifest-store.ts'
import { loadNative } from './native/native-module.ts'
import { KeyedLock } from './keyed-lock.ts'
import { connect, openTable, splitLocation } from './native/open-table.ts'
import type { EngineContext } from './native/open-table.ts'
import { openPlans } from './query/query-plans.ts'
import { rejectUnsupported } from './query/native-query.ts'
import { openBranches, openTags } from './tables/tags-and-branches.ts'
import { changeTable, retryConflicts } from './native/change-table.ts'
import { openRows } from './tables/rows.ts'
import { runQuery } from './query/run-query.ts'
import { assertStorable } from './schema/assert-storable.ts'
import { schemaToJson } from './schema/schema-json.ts'
import { changeSchemaMetadata } from './manifest/change-schema-metadata.ts'
import { createStallDetector } from './native/stall-detector.ts'
import { omitMainBranch } from './manifest/versions-folder.ts'
import { parenthesizeCondition } from './sql/validate-expression.ts'

/** The storage of the tables (default: local files) and the engine's own memory limits in bytes. */
export interface EngineOptions {
  readonly storage?: Storage | undefined
  readonly indexCacheBytes?: number | undefined
  readonly metadataCacheBytes?: number | undefined
  /** Limit for the decoded rows of one upload. */
  readonly decodedUploadBytes?: number | undefined
}

const mebibyte = 1024 * 1024
const openFolders = 64
/** Enough to write data files during the commit of another append, and few enough to rarely conflict. */
const maxAppends = 4

/** Throws a plain error if the installed package is not the pinned one. */
export function openEngine(options: EngineOptions = {}): Engine {
  const {
    storage = localFileStorage,
    indexCacheBytes = 64 * mebibyte,
    metadataCacheBytes = 32 * mebibyte,
  } = options
  const native = loadNative()
  const context: EngineContext = {
    native,
    storage,
    connections: new LRUCache({ max: openFolders }),
    session: new native.Session(BigInt(indexCacheBytes), BigInt(metadataCacheBytes)),
    decodedUploadBytes: options.decodedUploadBytes ?? 1024 * mebibyte,
    appends: new KeyedLock({ maxShared: maxAppends }),
    changes: new KeyedLock(),
  }
  return {
    create: async (location, upload, mode) =>
      withUploadErrors(async () => createTable(context, location, upload, mode)),
    insert: async (location, upload, mode, branch) =>
      withUploadErrors(async () => insertRows(context, { location, branch }, upload, mode)),
    query: async (location, query) => withCatalogErrors(async () => queryRows(context, location, query)),
    count: async (location, options = {}) =>
      withCatalogErrors(async () => countRows(context, location, options)),
    describe: async (location, options = {}) =>
      withCatalogErrors(async () => describeTable(context, location, options)),
    tags: openTags(context),
    branches: openBranches(context),
    indexes: openIndexes(context),
    restore: async (point) =>
      withCatalogErrors(async () => changeTable(context, point, async (table) => table.restore())),
    measure: async (point) => withCatalogErrors(async () => (await openTable(context, point)).stats()),
    changeMetadata: async (point, changes) =>
      withCatalogErrors(async () => changeSchemaMetadata(storage, point, changes)),
    rows: openRows(context),
    columns: openColumns(context),
    plans: openPlans(context),
    drop: async (location) =>
      withCatalogErrors(async () => storage.removeAll(splitLocation(location).location)),
    isStalled: createStallDetector(native),
    close: async () => closeConnections(context),
  }
}

async function createTable(
  context: EngineContext,
  location: string,
  upload: Uint8Array,
  mode: 'create' | 'overwrite',
): Promise<{ version: number; rows: number }> {
  const { file, rows } = streamToFile(upload, context.decodedUploadBytes)
  assertStorable(readFileSchema(file))
  const { folder, name } = splitLocation(location)
  const connection = await connect(context, folder)
  const table = await connection.createTable(name, file, mode, [])
  return { version: await table.version(), rows }
}

async function insertRows(
  context: EngineContext,
  point: TablePoint,
  upload: Uint8Array,
  mode: 'append' | 'overwrite',
): Promise<{ version: number; rows: number }> {
  const uploaded = streamToFile(upload, context.decodedUploadBytes)
  const version =
    mode === 'append' ? appendRows(context, point, upload, uploaded) : replaceRows(context, point, uploaded)
  return { version: await version, rows: uploaded.rows }
}

/** The engine cannot append zero rows; the table keeps its version. */
async function appendRows(
  context: EngineContext,
  point: TablePoint,
  stream: Uint8Array,
  { file, batches }: UploadedFile,
): Promise<number> {
  return await context.appends.runShared(point.location, async () => {
    const table = await openTable(context, point)
    if (batches === 0) return table.version()
    await assertUploadNotComputed(table, stream)
    return (await table.add(file, 'append')).version
  })
}

/** Concurrent overwrites conflict in the engine, although either order is correct. */
async function replaceRows(
  context: EngineContext,
  point: TablePoint,
  { file, batches }: UploadedFile,
): Promise<number> {
  assertStorable(readFileSchema(file))
  return await retryConflicts(async () => {
    const table = await openTable(context, point)
    if (batches > 0) return (await table.add(file, 'overwrite')).version
    if (omitMainBranch(point.branch) !== undefined) {
      throw new CatalogError('Unsupported', 'a branch cannot be overwritten with a stream without batches')
    }
    const { folder, name } = splitLocation(point.location)
    const connection = await connect(context, folder)
    return await (await connection.createEmptyTable(name, file, 'overwrite', [])).version()
  })
}

async function queryRows(
  context: EngineContext,
  location: string,
  query: TableQuery,
): Promise<AsyncGenerator<Uint8Array>> {
  rejectUnsupported(query)
  const table = await openTable(context, {
    location,
    branch: query.branch ?? undefined,
    version: query.version ?? undefined,
  })
  const factories = context.native.JsFullTextQuery
  const response = await runQuery(factories, table, query)
  const selection = castDictionaryColumns(readFileSchema(response.first), query)
  const { first, next } = selection ? await runQuery(factories, table, query, selection) : response
  return joinFiles(first, async () => withCatalogErrors(next))
}

async function countRows(context: EngineContext, location: string, options: CountOptions): Promise<number> {
  const table = await openTable(context, { ...options, location })
  return table.countRows(parenthesizeCondition(options.predicate))
}

async function describeTable(
  context: EngineContext,
  location: string,
  options: DescribeOptions,
): Promise<TableDescription> {
  const table = await openTable(context, { ...options, location })
  const [version, schemaFile] = await Promise.all([table.version(), table.schema()])
  const schema = readFileSchema(schemaFile)
  const manifest = options.includeStats
    ? await readVersionManifest(context.storage, location, version, options.branch)
    : undefined
  return {
    version,
    metadata: schema.metadata,
    schema: (dialect) => schemaToJson(schema, dialect),
    ...(manifest && { stats: { numFragments: manifest.fragments, numDeletedRows: manifest.deletedRows } }),
  }
}

async function closeConnections({ connections }: EngineContext): Promise<void> {
  const opened = await Promise.allSettled([...connections.values()].map(({ connection }) => connection))
  connections.clear()
  for (const connection of opened) if (connection.status === 'fulfilled') connection.value.close()
}
