import { CatalogError, type IndexRequest } from 'catalog-gateway/catalog-api'
import type { NativeIndex, NativeIndexFactories } from '../native/native-references.ts'

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

type IndexFactory = (factories: NativeIndexFactories, request: IndexRequest) => NativeIndex

const indexFactories = {
  BTREE: (factories) => factories.btree(),
  BITMAP: (factories) => factories.bitmap(),
  LABEL_LIST: (factories) => factories.labelList(),
  FM: (factories) => factories.fm(),
  FTS: (factories, request) =>
    factories.fts(
      request.with_position,
      request.base_tokenizer,
      request.language,
      request.max_token_length,
      request.lower_case,
      request.stem,
      request.remove_stop_words,
      request.ascii_folding,
      request.min_ngram_length,
      request.max_ngram_length,
      request.prefix_only,
    ),
  IVF_FLAT: (factories, request) =>
    factories.ivfFlat(
      request.distance_type,
      request.num_partitions,
      request.max_iterations,
      request.sample_rate,
    ),
  IVF_PQ: (factories, request) =>
    factories.ivfPq(
      request.distance_type,
      request.num_partitions,
      request.num_sub_vectors,
      request.num_bits,
      request.max_iterations,
      request.sample_rate,
    ),
  IVF_RQ: (factories, request) =>
    factories.ivfRq(
      request.distance_type,
      request.num_partitions,
      request.num_bits,
      request.max_iterations,
      request.sample_rate,
    ),
  IVF_HNSW_PQ: (factories, request) =>
    factories.hnswPq(
      request.distance_type,
      request.num_partitions,
      request.num_sub_vectors,
      request.max_iterations,
      request.sample_rate,
      request.m,
      request.ef_construction,
    ),
  IVF_HNSW_SQ: (factories, request) =>
    factories.hnswSq(
      request.distance_type,
      request.num_partitions,
      request.max_iterations,
      request.sample_rate,
      request.m,
      request.ef_construction,
    ),
} satisfies Partial<Record<IndexRequest['index_type'], IndexFactory>>

/** Throws Unsupported (406) for an index that the engine cannot build, or only with other results. */
export function toNativeIndex(factories: NativeIndexFactories, request: IndexRequest): NativeIndex {
  const factoriesByType: Partial<Record<IndexRequest['index_type'], IndexFactory>> = indexFactories
  const create = factoriesByType[request.index_type]
  if (create === undefined) {
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
  return create(factories, request)
}

/** Replaces `target_partition_size`, which the engine does not know, by the number of partitions for those rows. */
export function sizePartitions(request: IndexRequest, rows: number): IndexRequest {
  const { target_partition_size: size, num_partitions: partitions } = request
  if (size === undefined || partitions !== undefined) return request
  return { ...request, num_partitions: Math.min(Math.max(1, Math.ceil(rows / size)), maxPartitions) }
}

/** Converts the engine's spelling of a type, `IvfHnswPq`, to that of the catalog API: `IVF_HNSW_PQ`. */
export function formatIndexType(type: string): string {
  const spelled = type.replaceAll(/(?<=[a-z])[A-Z]/g, '_$&').toUpperCase()
  return spelled === 'INVERTED' ? 'FTS' : spelled
}
