import { CatalogError } from '../../../catalog-api/catalog-error.ts'
import type { IndexRequest } from '../../../catalog-api/schemas/indexes.ts'
import type { NativeIndex, NativeIndexMakers } from '../native/native-references.ts'

type IndexFactory = (makers: NativeIndexMakers, request: IndexRequest) => NativeIndex

const indexFactories = {
  BTREE: (make) => make.btree(),
  BITMAP: (make) => make.bitmap(),
  LABEL_LIST: (make) => make.labelList(),
  FM: (make) => make.fm(),
  FTS: (make, request) =>
    make.fts(
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
  IVF_FLAT: (make, request) =>
    make.ivfFlat(request.distance_type, request.num_partitions, request.max_iterations, request.sample_rate),
  IVF_PQ: (make, request) =>
    make.ivfPq(
      request.distance_type,
      request.num_partitions,
      request.num_sub_vectors,
      request.num_bits,
      request.max_iterations,
      request.sample_rate,
    ),
  IVF_RQ: (make, request) =>
    make.ivfRq(
      request.distance_type,
      request.num_partitions,
      request.num_bits,
      request.max_iterations,
      request.sample_rate,
    ),
  IVF_HNSW_PQ: (make, request) =>
    make.hnswPq(
      request.distance_type,
      request.num_partitions,
      request.num_sub_vectors,
      request.max_iterations,
      request.sample_rate,
      request.m,
      request.ef_construction,
    ),
  IVF_HNSW_SQ: (make, request) =>
    make.hnswSq(
      request.distance_type,
      request.num_partitions,
      request.max_iterations,
      request.sample_rate,
      request.m,
      request.ef_construction,
    ),
} satisfies Partial<Record<IndexRequest['index_type'], IndexFactory>>

/** Throws Unsupported (406) for an index that the engine cannot build. */
export function toNativeIndex(make: NativeIndexMakers, request: IndexRequest): NativeIndex {
  const known: Partial<Record<IndexRequest['index_type'], IndexFactory>> = indexFactories
  const maker = known[request.index_type]
  if (maker === undefined) throw unsupportedIndexError(`an index of the type ${request.index_type}`)
  if (request.target_partition_size !== undefined) throw unsupportedIndexError('target_partition_size')
  return maker(make, request)
}

function unsupportedIndexError(what: string): CatalogError {
  return new CatalogError('Unsupported', `${what} is not supported by the engine of this catalog`)
}

/** Converts the engine's spelling of a type, `IvfHnswPq`, to that of the interface: `IVF_HNSW_PQ`. */
export function indexTypeName(type: string): string {
  const spelled = type.replaceAll(/(?<=[a-z])[A-Z]/g, '_$&').toUpperCase()
  return spelled === 'INVERTED' ? 'FTS' : spelled
}
