import { rm } from 'node:fs/promises'
import path from 'node:path'
import type { Session } from '@lancedb/lancedb'
import { LRUCache } from 'lru-cache'
import { invalidInput } from '../../interface/errors.ts'
import type { TableQuery } from '../../interface/schemas/query.ts'
import { joinFiles, streamToFile } from './arrow-file.ts'
import type { UploadedFile } from './arrow-file.ts'
import { readSchema } from './arrow-schema.ts'
import { withoutDictionaries } from './dictionary-columns.ts'
import type { CountOptions, DescribeOptions, Engine, TableDescription } from './engine.ts'
import { guarded, guardedUpload, toInterfaceError } from './errors.ts'
import { readVersionManifest } from './manifest-store.ts'
import { loadNative } from './native.ts'
import type { NativeConnection, NativeModule, NativeTable } from './native.ts'
import { refuseUnsupported, toNativeQuery, wantsNoRows } from './query.ts'
import type { Selection } from './query.ts'
import { schemaToJson } from './schema-json.ts'

/** How much memory the engine may use for itself, in bytes. */
export interface EngineOptions {
  readonly indexCacheBytes?: number | undefined
  readonly metadataCacheBytes?: number | undefined
  /** The most that the rows of one upload may take when they are decoded. */
  readonly decodedUploadBytes?: number | undefined
}

interface EngineParts {
  readonly native: NativeModule
  /** One for each folder that holds tables. */
  readonly connections: LRUCache<string, Promise<NativeConnection>>
  readonly session: Session
  readonly decodedUploadBytes: number
}

const mebibyte = 1024 * 1024
const rowsPerBatch = 8192
const openFolders = 64
const overwriteAttempts = 5

/** The engine of tables in folders of this machine. Throws a plain error when its package is not the pinned one. */
export function openEngine(options: EngineOptions = {}): Engine {
  const { indexCacheBytes = 64 * mebibyte, metadataCacheBytes = 32 * mebibyte } = options
  const native = loadNative()
  const parts: EngineParts = {
    native,
    connections: new LRUCache({ max: openFolders }),
    session: new native.Session(BigInt(indexCacheBytes), BigInt(metadataCacheBytes)),
    decodedUploadBytes: options.decodedUploadBytes ?? 1024 * mebibyte,
  }
  return {
    create: async (location, upload, mode) =>
      guardedUpload(async () => createTable(parts, location, upload, mode)),
    insert: async (location, upload, mode) =>
      guardedUpload(async () => insertRows(parts, location, upload, mode)),
    query: async (location, query) => guarded(async () => queryRows(parts, location, query)),
    count: async (location, options = {}) => guarded(async () => countRows(parts, location, options)),
    describe: async (location, options = {}) => guarded(async () => describeTable(parts, location, options)),
    drop: async (location) =>
      guarded(async () => rm(placeOf(location).location, { recursive: true, force: true })),
    close: async () => closeConnections(parts),
  }
}

async function createTable(
  parts: EngineParts,
  location: string,
  upload: Uint8Array,
  mode: 'create' | 'overwrite',
): Promise<{ version: number }> {
  const { file } = streamToFile(upload, parts.decodedUploadBytes)
  const { folder, name } = placeOf(location)
  const connection = await connect(parts, folder)
  const table = await connection.createTable(name, file, mode, [])
  return { version: await table.version() }
}

async function insertRows(
  parts: EngineParts,
  location: string,
  upload: Uint8Array,
  mode: 'append' | 'overwrite',
): Promise<{ version: number; rows: number }> {
  const uploaded = streamToFile(upload, parts.decodedUploadBytes)
  const version =
    mode === 'append' ? appendRows(parts, location, uploaded) : replaceRows(parts, location, uploaded)
  return { version: await version, rows: uploaded.rows }
}

/** The engine cannot append nothing; the table stays at its version. */
async function appendRows(
  parts: EngineParts,
  location: string,
  { file, batches }: UploadedFile,
): Promise<number> {
  const table = await openTable(parts, location)
  if (batches === 0) return table.version()
  return (await table.add(file, 'append')).version
}

/** Two overwrites at once conflict, although either order of them is right. */
async function replaceRows(
  parts: EngineParts,
  location: string,
  { file, batches }: UploadedFile,
): Promise<number> {
  for (let attempt = 1; ; attempt++) {
    try {
      const table = await openTable(parts, location)
      if (batches > 0) return (await table.add(file, 'overwrite')).version
      const { folder, name } = placeOf(location)
      const connection = await connect(parts, folder)
      return await (await connection.createEmptyTable(name, file, 'overwrite', [])).version()
    } catch (error) {
      const failure = toInterfaceError(error)
      if (failure.kind !== 'ConcurrentModification' || attempt === overwriteAttempts) throw failure
    }
  }
}

async function queryRows(
  parts: EngineParts,
  location: string,
  query: TableQuery,
): Promise<AsyncGenerator<Uint8Array>> {
  refuseUnsupported(query)
  const table = await openTable(parts, location, query.version ?? undefined)
  const answer = await runQuery(parts, table, query)
  const selection = withoutDictionaries(readSchema(answer.first), query)
  const { first, next } = selection ? await runQuery(parts, table, query, selection) : answer
  return joinFiles(first, async () => guarded(next))
}

interface Answer {
  /** The first batch, or a file of the schema alone. */
  readonly first: Buffer
  /** The next batch, each an Arrow IPC file. */
  readonly next: () => Promise<Buffer | null>
}

async function runQuery(
  parts: EngineParts,
  table: NativeTable,
  query: TableQuery,
  selection?: Selection,
): Promise<Answer> {
  const native = toNativeQuery(table, parts.native.JsFullTextQuery, query, selection)
  if (!wantsNoRows(query)) {
    const batches = await native.execute(rowsPerBatch)
    const first = await batches.next()
    if (first !== null) return { first, next: async () => batches.next() }
  }
  return { first: await native.outputSchema(), next: async () => null }
}

async function countRows(parts: EngineParts, location: string, options: CountOptions): Promise<number> {
  const table = await openTable(parts, location, options.version)
  try {
    return await table.countRows(options.predicate ?? null)
  } catch (error) {
    const failure = toInterfaceError(error)
    // The interface knows no missing column for this operation: it is the predicate that is wrong.
    throw failure.kind === 'TableColumnNotFound' ? invalidInput(failure.message, { cause: error }) : failure
  }
}

async function describeTable(
  parts: EngineParts,
  location: string,
  options: DescribeOptions,
): Promise<TableDescription> {
  const table = await openTable(parts, location, options.version)
  const [version, schemaFile] = await Promise.all([table.version(), table.schema()])
  const schema = readSchema(schemaFile)
  const manifest = options.stats ? await readVersionManifest(location, version) : undefined
  return {
    version,
    metadata: schema.metadata,
    schema: (dialect) => schemaToJson(schema, dialect),
    ...(manifest && { stats: { numFragments: manifest.fragments, numDeletedRows: manifest.deletedRows } }),
  }
}

async function openTable(parts: EngineParts, location: string, version?: number): Promise<NativeTable> {
  const { folder, name } = placeOf(location)
  const connection = await connect(parts, folder)
  const table = await connection.openTable(name, [])
  if (version !== undefined) await table.checkout(version)
  return table
}

/** A connection writes files into its folder on opening, so one is kept for each. */
async function connect(parts: EngineParts, folder: string): Promise<NativeConnection> {
  const known = parts.connections.get(folder)
  if (known !== undefined) return known
  const opened = parts.native.Connection.new(folder, { session: parts.session })
  parts.connections.set(folder, opened)
  opened.catch(() => parts.connections.delete(folder))
  return opened
}

async function closeConnections({ connections }: EngineParts): Promise<void> {
  const opened = await Promise.allSettled(connections.values())
  connections.clear()
  for (const connection of opened) if (connection.status === 'fulfilled') connection.value.close()
}

/** The folder and the name of a table; the engine adds the ending itself. */
function placeOf(location: string): { location: string; folder: string; name: string } {
  if (!path.isAbsolute(location) || !location.endsWith('.lance')) {
    throw new Error(`not the location of a table: ${location}`)
  }
  return { location, folder: path.dirname(location), name: path.basename(location, '.lance') }
}
