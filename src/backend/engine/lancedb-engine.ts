import { LRUCache } from 'lru-cache'
import { CatalogError } from 'catalog-gateway/catalog-api'
import { type TableQuery } from '../schemas/query.ts'
import { localFileStorage } from '../storage/local-storage.ts'
import type { Storage } from '../storage/storage.ts'
import { joinFiles, streamToFile, type UploadedFile } from './arrow/arrow-file.ts'
import { readFileSchema } from './arrow/arrow-frames.ts'
import { openColumns } from './tables/columns.ts'
import { castDictionaryColumns, runQuery } from './query/run-query.ts'
import {
  type TablePoint,
  type VersionPoint,
  connect,
  openTable,
  splitLocation,
  type EngineContext,
  changeTable,
  retryConflicts,
} from './native/open-table.ts'
import { withCatalogErrors, withUploadErrors } from './native/native-errors.ts'
import { openIndexes } from './tables/indexes.ts'
import { readVersionManifest } from './manifest/manifest-files.ts'
import { loadNative } from './native/native-module.ts'
import { KeyedLock } from './keyed-lock.ts'
import { openPlans } from './query/query-plans.ts'
import { openBranches, openTags } from './tables/tags-and-branches.ts'
import { openRows } from './tables/rows.ts'
import { assertStorable } from './schema/fields.ts'
import { schemaToJson, type SchemaDialect } from './schema/schema-json.ts'
import { changeSchemaMetadata, type MetadataChanges } from './manifest/schema-metadata.ts'
import { omitMainBranch } from './manifest/manifest.ts'
import { parenthesizeCondition } from './sql/expressions.ts'

/** The storage of the tables; default: local files. */
export interface EngineOptions {
  readonly storage?: Storage | undefined
  /** Limit for the decoded rows of one upload. */
  readonly decodedUploadBytes?: number | undefined
}

/** Of a location. */
type OptionalPoint = Omit<TablePoint, 'location'>

const mebibyte = 1024 * 1024
const indexCacheBytes = 64 * mebibyte
const metadataCacheBytes = 32 * mebibyte
const openFolders = 64
/** Enough to write data files during the commit of another append, and few enough to rarely conflict. */
const maxAppends = 4

/** Throws a plain error if the installed package is not the pinned one. */
export function openEngine(options: EngineOptions = {}) {
  const { storage = localFileStorage, decodedUploadBytes = 1024 * mebibyte } = options
  const native = loadNative()
  const context: EngineContext = {
    native,
    storage,
    connections: new LRUCache({ max: openFolders }),
    session: new native.Session(BigInt(indexCacheBytes), BigInt(metadataCacheBytes)),
    decodedUploadBytes,
    appends: new KeyedLock({ maxShared: maxAppends }),
    changes: new KeyedLock(),
  }
  const rows = withCatalogErrors({
    /** Creates a table from a complete Arrow IPC stream; `overwrite` adds a version to an existing table. */
    create: async (location: string, upload: Uint8Array, mode: 'create' | 'overwrite') =>
      withUploadErrors(async () => createTable(context, location, upload, mode)),
    /** Appends the rows of a complete Arrow IPC stream, or replaces all rows by them. */
    insert: async (location: string, upload: Uint8Array, mode: 'append' | 'overwrite', branch?: string) =>
      withUploadErrors(async () => insertRows(context, { location, branch }, upload, mode)),
    /**
     * Resolves once the schema and the first rows are known, so a failing query still gets an error response; then yields
     * the bytes of one Arrow IPC file with backpressure. `return()` of the iterator cancels the query.
     */
    query: async (location: string, query: TableQuery): Promise<AsyncIterable<Uint8Array>> =>
      queryRows(context, location, query),
    count: async (
      location: string,
      { predicate, ...point }: OptionalPoint & { predicate?: string | undefined } = {},
    ) => (await openTable(context, { ...point, location })).countRows(parenthesizeCondition(predicate)),
    describe: async (
      location: string,
      { includeStats, ...point }: OptionalPoint & { includeStats?: true } = {},
    ) => describeTable(context, { ...point, location }, includeStats === true),
    restore: async (point: VersionPoint) => changeTable(context, point, async (table) => table.restore()),
    /** Measures the newest version of a branch. */
    measure: async (point: TablePoint) => (await openTable(context, point)).stats(),
    /** Adds a version unless nothing changes; null removes a key. Returns the resulting metadata. */
    changeMetadata: async (point: TablePoint, changes: MetadataChanges) =>
      changeSchemaMetadata(storage, point, changes),
    /** Deletes the data with all versions. An empty location is no error. */
    drop: async (location: string) => storage.removeAll(splitLocation(location).location),
  })
  return {
    ...rows,
    tags: openTags(context),
    branches: openBranches(context),
    indexes: openIndexes(context),
    rows: openRows(context),
    columns: openColumns(context),
    plans: openPlans(context),
    /** Releases caches and handles; the engine cannot be used afterwards. */
    close: async () => closeConnections(context),
  }
}

/** A `location` is an absolute folder of the storage whose name ends in `.lance`. Methods throw only CatalogError. */
export type Engine = ReturnType<typeof openEngine>

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
    mode === 'append' ? appendRows(context, point, uploaded) : replaceRows(context, point, uploaded)
  return { version: await version, rows: uploaded.rows }
}

/** The engine cannot append zero rows; the table keeps its version. */
async function appendRows(
  context: EngineContext,
  point: TablePoint,
  { file, batches }: UploadedFile,
): Promise<number> {
  return await context.appends.runShared(point.location, async () => {
    const table = await openTable(context, point)
    if (batches === 0) return table.version()
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
  const table = await openTable(context, {
    location,
    branch: query.branch ?? undefined,
    version: query.version ?? undefined,
  })
  const factories = context.native.JsFullTextQuery
  const response = await runQuery(factories, table, query)
  const selection = castDictionaryColumns(readFileSchema(response.first), query)
  const { first, next } = selection ? await runQuery(factories, table, query, selection) : response
  return joinFiles(first, withCatalogErrors({ next }).next)
}

async function describeTable(context: EngineContext, point: TablePoint, includeStats: boolean) {
  const table = await openTable(context, point)
  const [version, schemaFile] = await Promise.all([table.version(), table.schema()])
  const schema = readFileSchema(schemaFile)
  const manifest = includeStats
    ? await readVersionManifest(context.storage, point.location, version, point.branch)
    : undefined
  return {
    version,
    /** The schema metadata, which is the metadata of the table. */
    metadata: schema.metadata,
    /** Throws Unsupported if the dialect has no name for a type. */
    schema: (dialect: SchemaDialect) => schemaToJson(schema, dialect),
    ...(manifest && { stats: { numFragments: manifest.fragments, numDeletedRows: manifest.deletedRows } }),
  }
}

async function closeConnections({ connections }: EngineContext): Promise<void> {
  const opened = await Promise.allSettled([...connections.values()].map(({ connection }) => connection))
  connections.clear()
  for (const connection of opened) if (connection.status === 'fulfilled') connection.value.close()
}
