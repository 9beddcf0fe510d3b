import { LRUCache } from 'lru-cache'
import type { Storage } from '../storage/storage.ts'
import { readFileSchema } from './arrow/arrow-frames.ts'
import { KeyedLock } from './keyed-lock.ts'
import { readManifest } from './manifest/manifest-files.ts'
import { changeSchemaMetadata, type MetadataChanges } from './manifest/schema-metadata.ts'
import { Session } from './native/native-module.ts'
import {
  changeTable,
  type EngineContext,
  openTable,
  splitLocation,
  type TablePoint,
  type VersionPoint,
} from './native/open-table.ts'
import { type SchemaDialect, schemaToJson } from './schema/schema-json.ts'
import { openColumns } from './tables/columns.ts'
import { openIndexes } from './tables/indexes.ts'
import { openRows } from './tables/rows.ts'
import { openBranches, openTags } from './tables/tags-and-branches.ts'

const mebibyte = 1024 * 1024
const indexCacheBytes = 64 * mebibyte
const metadataCacheBytes = 32 * mebibyte
const openFolders = 64
/** Enough to write data files during the commit of another append, and few enough to rarely conflict. */
const maxAppends = 4

/** `decodedUploadBytes` limits the decoded rows of one upload. */
export function openEngine(storage: Storage, decodedUploadBytes: number) {
  const context: EngineContext = {
    storage,
    connections: new LRUCache({ max: openFolders }),
    session: new Session(BigInt(indexCacheBytes), BigInt(metadataCacheBytes)),
    decodedUploadBytes,
    appends: new KeyedLock(maxAppends),
    changes: new KeyedLock(),
  }
  return {
    ...openRows(context),
    tags: openTags(context),
    branches: openBranches(context),
    indexes: openIndexes(context),
    columns: openColumns(context),
    describe: (point: TablePoint) => describeTable(context, point),
    restore: (point: VersionPoint) => changeTable(context, point, async (table) => table.restore()),
    /** Measures the newest version of a branch. */
    measure: async (point: TablePoint) => (await openTable(context, point)).stats(),
    /** Adds a version unless nothing changes; null removes a key. Returns the resulting metadata. */
    changeMetadata: (point: TablePoint, changes: MetadataChanges) =>
      changeSchemaMetadata(storage, point, changes),
    /** Deletes the data with all versions. An empty location is no error. */
    drop: async (location: string) => storage.removeAll(splitLocation(location).location),
    /** Releases caches and handles; the engine cannot be used afterwards. */
    close: () => closeConnections(context),
  }
}

/**
 * A `location` is an absolute folder of the storage whose name ends in `.lance`. Methods throw CatalogError, and errors
 * that `toEngineCatalogError` translates.
 */
export type Engine = ReturnType<typeof openEngine>

async function describeTable(context: EngineContext, point: TablePoint) {
  const table = await openTable(context, point)
  const [version, schemaFile] = await Promise.all([table.version(), table.schema()])
  const schema = readFileSchema(schemaFile)
  const { fragments, deletedRows } = await readManifest(context.storage, { ...point, version })
  return {
    version,
    /** The schema metadata, which is the metadata of the table. */
    metadata: schema.metadata,
    /** Throws Unsupported if the dialect has no name for a type. */
    schema: (dialect: SchemaDialect) => schemaToJson(schema, dialect),
    stats: { num_fragments: fragments, num_deleted_rows: deletedRows },
  }
}

async function closeConnections({ connections }: EngineContext): Promise<void> {
  const opened = await Promise.allSettled([...connections.values()].map(({ connection }) => connection))
  connections.clear()
  for (const connection of opened) if (connection.status === 'fulfilled') connection.value.close()
}
