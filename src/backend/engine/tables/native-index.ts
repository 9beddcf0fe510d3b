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

const vectorMembers = ['distance_type', 'num_partitions'] as const
const trainingMembers = ['max_iterations', 'sample_rate'] as const
const graphMembers = ['m', 'ef_construction'] as const

type Factory = readonly [method: keyof NativeIndexFactories, ...members: (keyof IndexRequest)[]]

/** The factory of each type, with the members in the order of its parameters. */
const indexFactories: Readonly<Partial<Record<IndexRequest['index_type'], Factory>>> = {
  BTREE: ['btree'],
  BITMAP: ['bitmap'],
  LABEL_LIST: ['labelList'],
  FM: ['fm'],
  FTS: [
    'fts',
    'with_position',
    'base_tokenizer',
    'language',
    'max_token_length',
    'lower_case',
    'stem',
    'remove_stop_words',
    'ascii_folding',
    'min_ngram_length',
    'max_ngram_length',
    'prefix_only',
  ],
  IVF_FLAT: ['ivfFlat', ...vectorMembers, ...trainingMembers],
  IVF_PQ: ['ivfPq', ...vectorMembers, 'num_sub_vectors', 'num_bits', ...trainingMembers],
  IVF_RQ: ['ivfRq', ...vectorMembers, 'num_bits', ...trainingMembers],
  IVF_HNSW_PQ: ['hnswPq', ...vectorMembers, 'num_sub_vectors', ...trainingMembers, ...graphMembers],
  IVF_HNSW_SQ: ['hnswSq', ...vectorMembers, ...trainingMembers, ...graphMembers],
}

/** Throws Unsupported (406) for an index that the engine cannot build, or only with other results. */
export function toNativeIndex(factories: NativeIndexFactories, request: IndexRequest): NativeIndex {
  const [method, ...members] = indexFactories[request.index_type] ?? []
  if (method === undefined) {
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
  return factories[method](...members.map((member) => request[member]))
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
