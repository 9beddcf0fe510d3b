import { z } from 'zod'
import { getKeys } from 'catalog-gateway/lib'
import {
  branch,
  changeResponseSchema,
  changeSchemas,
  distanceType,
  every,
  maybe,
  model,
  optional,
  pageSchemas,
  requestSchema,
  schemas,
  spelledValue,
} from './members.ts'

const typeNames = {
  BTREE: ['SCALAR'],
  BITMAP: [],
  LABEL_LIST: ['LABELLIST'],
  FTS: ['INVERTED'],
  FM: [],
  NGRAM: [],
  ZONEMAP: [],
  BLOOMFILTER: ['BLOOM_FILTER'],
  RTREE: [],
  IVF_FLAT: [],
  IVF_SQ: [],
  IVF_PQ: ['VECTOR'],
  IVF_RQ: [],
  IVF_HNSW_FLAT: [],
  IVF_HNSW_SQ: [],
  IVF_HNSW_PQ: [],
} as const satisfies Record<string, readonly string[]>

type IndexType = keyof typeof typeNames

const types = new Map<string, IndexType>()
for (const name of getKeys(typeNames)) {
  for (const spelling of [name, ...typeNames[name]]) types.set(spelling, name)
}

const spellings = [...types.keys()]
const indexType = spelledValue(
  types,
  spellings,
  (text) => text.trim().toUpperCase(),
  `One of ${spellings.join(', ')}; case does not matter.`,
)

/** An unknown language crashes the process of the engine. */
const languages = (
  'Arabic Danish Dutch English Finnish French German Greek Hungarian Italian Norwegian Portuguese Romanian ' +
  'Russian Spanish Swedish Tamil Turkish'
).split(' ')

const caseInsensitiveWord = (words: readonly string[]) =>
  spelledValue(new Map(words.map((word) => [word.toLowerCase(), word])), words, (text) => text.toLowerCase())

/** The engine reserves memory by these numbers before it reads rows, so each is bounded. */
const boundedInt = (max: number, min = 1) => optional.of(z.int().min(min).max(max))

/** Members of the remote client of LanceDB. The bundled catalog refuses those that would change what a search finds. */
const remoteMembers = {
  ...every(optional.text, 'metric_type', 'lance_tokenizer', 'document_granularity'),
  ...every(optional.flag, 'replace', 'split_identifiers', 'split_on_numerics', 'preserve_original'),
  ...every(optional.count, 'block_size', 'number_of_items', 'page_size'),
  index_operators: optional.flag,
  custom_stop_words: optional.texts,
  probability: optional.number,
}

const vectorMembers = {
  distance_type: optional.of(distanceType),
  num_partitions: boundedInt(65_536),
  num_sub_vectors: boundedInt(4096),
  num_bits: boundedInt(16),
  sample_rate: boundedInt(65_536),
  max_iterations: boundedInt(1000),
  target_partition_size: boundedInt(2 ** 31 - 1),
  m: boundedInt(512),
  ef_construction: boundedInt(10_000),
}

/** The n-gram members are those of the remote client. */
const textMembers = {
  ...every(optional.flag, 'with_position', 'lower_case', 'stem', 'remove_stop_words', 'ascii_folding'),
  base_tokenizer: optional.of(caseInsensitiveWord(['simple', 'whitespace', 'raw', 'ngram'])),
  language: optional.of(caseInsensitiveWord(languages)),
  max_token_length: boundedInt(65_536, 0),
  ...every(boundedInt(64), 'min_ngram_length', 'max_ngram_length'),
  prefix_only: optional.flag,
}

const clusters = ['distance_type', 'num_partitions', 'sample_rate', 'max_iterations', 'target_partition_size']
const graph = ['m', 'ef_construction']

const membersByIndexType: Readonly<Partial<Record<IndexType, readonly string[]>>> = {
  FTS: Object.keys(textMembers),
  IVF_FLAT: clusters,
  IVF_SQ: [...clusters, 'num_bits'],
  IVF_PQ: [...clusters, 'num_sub_vectors', 'num_bits'],
  IVF_RQ: [...clusters, 'num_bits'],
  IVF_HNSW_FLAT: [...clusters, ...graph],
  IVF_HNSW_SQ: [...clusters, ...graph, 'num_bits'],
  IVF_HNSW_PQ: [...clusters, ...graph, 'num_sub_vectors', 'num_bits'],
}

const createIndex = requestSchema({
  branch,
  column: z.string().min(1),
  index_type: indexType,
  name: optional.of(z.string().min(1).max(200)),
  ...vectorMembers,
  ...textMembers,
  ...remoteMembers,
}).superRefine((sent, context) => {
  const allowed = membersByIndexType[sent.index_type] ?? []
  for (const member of [...getKeys(vectorMembers), ...getKeys(textMembers)]) {
    if (sent[member] === undefined || allowed.includes(member)) continue
    context.addIssue({
      code: 'custom',
      path: [member],
      message: `an index of the type ${sent.index_type} does not take it`,
    })
  }
})

export type IndexRequest = Readonly<z.output<typeof createIndex>>

/** The name that the engine gives to an index without one. */
export function defaultIndexName(column: string): string {
  return `${column}_idx`
}

const pointMembers = { version: optional.count, branch }

const indexContent = model('IndexContent', {
  ...every(z.string(), 'index_name', 'index_uuid', 'status'),
  columns: z.array(z.string()).readonly(),
  // `index_details` is JSON text.
  ...every(maybe.text, 'index_type', 'type_url', 'index_details'),
  ...every(maybe.count, 'num_indexed_rows', 'num_unindexed_rows', 'size_bytes', 'num_segments'),
  index_version: maybe.count,
  created_at: z.iso.datetime().optional(),
})

/** Some catalogs build an index in a job. */
const startedResponse = changeResponseSchema({ job_id: maybe.text })
const index_name = optional.text

export const indexSchemas = {
  CreateTableIndex: { request: createIndex, response: startedResponse },
  CreateTableScalarIndex: {
    request: createIndex.refine((sent) => !sent.index_type.startsWith('IVF_'), {
      path: ['index_type'],
      message: 'expected the type of a scalar index',
    }),
    response: startedResponse,
  },
  ListTableIndices: pageSchemas(pointMembers, { indexes: z.array(indexContent) }),
  DescribeTableIndexStats: schemas(
    { ...pointMembers, index_name },
    {
      ...every(maybe.text, 'distance_type', 'index_type'),
      ...every(maybe.count, 'num_indexed_rows', 'num_unindexed_rows', 'num_indices'),
    },
  ),
  DropTableIndex: changeSchemas({ branch, index_name }, {}),
  PrewarmTableIndex: schemas({ index_name }, {}),
}
