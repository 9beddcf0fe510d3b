import { Type } from 'apache-arrow/fb/type'
import {
  CatalogError,
  defaultIndexName,
  type IndexRequest,
  invalidInput,
  quoteForMessage,
} from 'catalog-gateway/catalog-api'
import type { ArrowSchema } from 'catalog-gateway/lib'
import { readFileSchema } from '../arrow/arrow-frames.ts'
import type { TablePoint } from '../table-point.ts'
import { changeTable, retryConflicts } from '../native/change-table.ts'
import { withCatalogErrors, translateEngineError } from '../native/native-errors.ts'
import { formatIndexType, sizePartitions, toNativeIndex } from './native-index.ts'
import type { NativeIndexConfiguration, NativeIndexStatistics } from '../native/native-references.ts'
import type { NativeTable } from '../native/native-module.ts'
import { openTable, type EngineContext } from '../native/open-table.ts'

/** The type is spelled as in the catalog API. */
export type TableIndex = NativeIndexConfiguration

type IndexStatistics = NativeIndexStatistics

export interface TableIndexes {
  /**
   * Replaces an index with the same name, column and type. Takes minutes for a large table. Builds of one table must not
   * run concurrently. Throws Unsupported, TableIndexAlreadyExists, InvalidInput.
   */
  create(point: TablePoint, request: IndexRequest): Promise<void>
  /** Unordered. */
  list(point: TablePoint): Promise<readonly TableIndex[]>
  describe(point: TablePoint, name: string): Promise<IndexStatistics | undefined>
  /** Loads the index into the cache, as far as it has room. */
  prewarm(point: TablePoint, name: string): Promise<void>
  /** Throws TableIndexNotFound. */
  drop(point: TablePoint, name: string): Promise<void>
}

export function openIndexes(context: EngineContext): TableIndexes {
  return {
    create: (point, request) => retryConflicts(() => createIndex(context, point, request)),
    list: async (point) =>
      await withCatalogErrors(async () => {
        const indexes = await (await openTable(context, point)).listIndices()
        return indexes.map((index) => ({ ...index, indexType: formatIndexType(index.indexType) }))
      }),
    describe: async (point, name) =>
      await withCatalogErrors(async () => {
        const found = await (await openTable(context, point)).indexStats(name)
        return found === null ? undefined : { ...found, indexType: formatIndexType(found.indexType) }
      }),
    prewarm: async (point, name) =>
      await withCatalogErrors(async () => (await openTable(context, point)).prewarmIndex(name)),
    drop: async (point, name) =>
      await withCatalogErrors(async () =>
        changeTable(context, point, async (table) => table.dropIndex(name)),
      ),
  }
}

async function createIndex(context: EngineContext, point: TablePoint, request: IndexRequest): Promise<void> {
  try {
    const table = await openTable(context, point)
    const index = toNativeIndex(context.native.Index, sizePartitions(request, await table.countRows(null)))
    if (request.distance_type === 'hamming')
      rejectFloatColumns(readFileSchema(await table.schema()), request.column)
    const replaces = await replacesIndex(table, request)
    await table.createIndex(index, request.column, replaces, null, request.name ?? null, true)
  } catch (error) {
    // The engine panics on incompatible parameters.
    if (!(error instanceof Error && error.message.includes('Panic'))) throw translateEngineError(error)
    throw invalidInput('the engine cannot build this index over these rows', { cause: error })
  }
}

/**
 * Whether an index with the requested name exists. The engine checks only that it has the same column. Throws
 * TableIndexAlreadyExists if it has another type.
 */
async function replacesIndex(table: NativeTable, request: IndexRequest): Promise<boolean> {
  const name = request.name ?? defaultIndexName(request.column)
  const existing = (await table.listIndices()).find((index) => index.name === name)
  if (existing === undefined) return false
  const type = formatIndexType(existing.indexType)
  if (type === request.index_type) return true
  throw new CatalogError(
    'TableIndexAlreadyExists',
    `the index ${quoteForMessage(name)} has the type ${type}, not ${request.index_type}; drop it first, or use another name`,
  )
}

/** The engine panics on them. */
function rejectFloatColumns({ fields }: ArrowSchema, column: string): void {
  const vector = fields.find(({ name }) => name === column)
  if (vector?.children[0]?.type.id !== Type.FloatingPoint) return
  throw invalidInput('hamming distance requires a column of uint8 vectors')
}
