import type * as native from '@lancedb/lancedb/native'
import { CatalogError, invalidInput, quoteForMessage } from 'catalog-gateway/catalog-api'
import { defaultIndexName, type IndexRequest } from '../../schemas/indexes.ts'
import { Index } from '../native/native-module.ts'
import {
  type TablePoint,
  changeTable,
  retryConflicts,
  openTable,
  type EngineContext,
} from '../native/open-table.ts'

export function openIndexes(context: EngineContext) {
  return {
    /**
     * Replaces an index with the same name, column and type. Takes minutes for a large table. Builds of one table must not
     * run concurrently. Throws Unsupported, TableIndexAlreadyExists, InvalidInput.
     */
    create: (point: TablePoint, request: IndexRequest): Promise<void> =>
      retryConflicts(() => createIndex(context, point, request)),
    /** Unordered. The types are spelled as in the catalog API. */
    list: async (point: TablePoint): Promise<readonly native.IndexConfig[]> => {
      const indexes = await (await openTable(context, point)).listIndices()
      return indexes.map((index) => ({ ...index, indexType: formatIndexType(index.indexType) }))
    },
    describe: async (point: TablePoint, name: string): Promise<native.IndexStatistics | undefined> => {
      const found = await (await openTable(context, point)).indexStats(name)
      return found === null ? undefined : { ...found, indexType: formatIndexType(found.indexType) }
    },
    /** Loads the index into the cache, as far as it has room. */
    prewarm: async (point: TablePoint, name: string): Promise<void> =>
      (await openTable(context, point)).prewarmIndex(name),
    /** Throws TableIndexNotFound. */
    drop: async (point: TablePoint, name: string): Promise<void> =>
      changeTable(context, point, async (table) => table.dropIndex(name)),
  }
}

async function createIndex(context: EngineContext, point: TablePoint, request: IndexRequest): Promise<void> {
  try {
    const table = await openTable(context, point)
    const index = toNativeIndex(sizePartitions(request, await table.countRows(null)))
    const replaces = await replacesIndex(table, request)
    await table.createIndex(index, request.column, replaces, null, request.name ?? null, true)
  } catch (error) {
    // The engine panics on incompatible parameters, such as hamming distance of floats.
    if (!(error instanceof Error && error.message.includes('Panic'))) throw error
    throw invalidInput('the engine cannot build this index over these rows', { cause: error })
  }
}

/**
 * Whether an index with the requested name exists. The engine checks only that it has the same column. Throws
 * TableIndexAlreadyExists if it has another type.
 */
async function replacesIndex(table: native.Table, request: IndexRequest): Promise<boolean> {
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

/** As many as a request may name. */
const maxPartitions = 65_536

/** Members by which text would be split or matched differently, with the value that the engine works by. */
const fixedTextMembers = [
  ['lance_tokenizer', 'text'],
  ['custom_stop_words', undefined],
  ['document_granularity', 'row'],
  ['split_identifiers', false],
  ['split_on_numerics', false],
  ['preserve_original', false],
  ['index_operators', false],
] as const satisfies readonly (readonly [member: keyof IndexRequest, value: unknown])[]

const builders: Partial<Record<IndexRequest['index_type'], (request: IndexRequest) => native.Index>> = {
  BTREE: () => Index.btree(),
  BITMAP: () => Index.bitmap(),
  LABEL_LIST: () => Index.labelList(),
  FM: () => Index.fm(),
  FTS: (text) =>
    Index.fts(
      text.with_position,
      text.base_tokenizer,
      text.language,
      text.max_token_length,
      text.lower_case,
      text.stem,
      text.remove_stop_words,
      text.ascii_folding,
      text.min_ngram_length,
      text.max_ngram_length,
      text.prefix_only,
    ),
  IVF_FLAT: (request) => Index.ivfFlat(...listClusters(request), ...listTraining(request)),
  IVF_PQ: (request) =>
    Index.ivfPq(
      ...listClusters(request),
      request.num_sub_vectors,
      request.num_bits,
      ...listTraining(request),
    ),
  IVF_RQ: (request) => Index.ivfRq(...listClusters(request), request.num_bits, ...listTraining(request)),
  IVF_HNSW_PQ: (request) =>
    Index.hnswPq(
      ...listClusters(request),
      request.num_sub_vectors,
      ...listTraining(request),
      request.m,
      request.ef_construction,
    ),
  IVF_HNSW_SQ: (request) =>
    Index.hnswSq(...listClusters(request), ...listTraining(request), request.m, request.ef_construction),
}

function listClusters({ distance_type: distance, num_partitions: partitions }: IndexRequest) {
  return [distance, partitions] as const
}

function listTraining({ max_iterations: iterations, sample_rate: rate }: IndexRequest) {
  return [iterations, rate] as const
}

/** Throws Unsupported (406) for an index that the engine cannot build, or only with other results. */
function toNativeIndex(request: IndexRequest): native.Index {
  const build = builders[request.index_type]
  if (build === undefined) {
    throw new CatalogError(
      'Unsupported',
      `an index of the type ${request.index_type} is not supported by the engine of this catalog`,
    )
  }
  for (const [member, value] of fixedTextMembers) {
    const sent = request[member]
    if (sent === undefined || sent === value) continue
    throw new CatalogError('Unsupported', `${member} is not supported by the engine of this catalog`)
  }
  return build(request)
}

/** Replaces `target_partition_size`, which the engine does not know, by the number of partitions for those rows. */
function sizePartitions(request: IndexRequest, rows: number): IndexRequest {
  const { target_partition_size: size, num_partitions: partitions } = request
  if (size === undefined || partitions !== undefined) return request
  return { ...request, num_partitions: Math.min(Math.max(1, Math.ceil(rows / size)), maxPartitions) }
}

/** Converts the engine's spelling of a type, `IvfHnswPq`, to that of the catalog API: `IVF_HNSW_PQ`. */
function formatIndexType(type: string): string {
  const spelled = type.replaceAll(/(?<=[a-z])[A-Z]/g, '_$&').toUpperCase()
  return spelled === 'INVERTED' ? 'FTS' : spelled
}
