import { z } from 'zod'
import { getKeys } from 'catalog-gateway/lib'
import {
  changeResponseSchema,
  changeSchemas,
  int64,
  optional,
  pageSchemas,
  pagingMembers,
  requestSchema,
  schemas,
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

const indexType = z
  .string()
  .describe(`One of ${[...types.keys()].join(', ')}; case does not matter.`)
  .transform((text, context): IndexType => {
    const found = types.get(text.trim().toUpperCase())
    if (found !== undefined) return found
    context.addIssue({ code: 'custom', message: `expected one of ${[...types.keys()].join(', ')}` })
    return z.NEVER
  })

/** An unknown language crashes the process of the engine. */
const languages = (
  'Arabic Danish Dutch English Finnish French German Greek Hungarian Italian Norwegian Portuguese Romanian ' +
  'Russian Spanish Swedish Tamil Turkish'
).split(' ')

const caseInsensitiveWord = (words: readonly string[]) =>
  z.string().transform((text, context) => {
    const found = words.find((word) => word.toLowerCase() === text.toLowerCase())
    if (found !== undefined) return found
    context.addIssue({ code: 'custom', message: `expected one of ${words.join(', ')}` })
    return z.NEVER
  })

/** The engine reserves memory by these numbers before it reads rows, so each is bounded. */
const boundedInt = (max: number, min = 1) => optional.of(z.int().min(min).max(max))

/** Members of the remote client of LanceDB. The bundled catalog refuses those that would change what a search finds. */
const remoteMembers = {
  metric_type: optional.text,
  replace: optional.flag,
  lance_tokenizer: optional.text,
  custom_stop_words: optional.texts,
  document_granularity: optional.text,
  block_size: optional.count,
  split_identifiers: optional.flag,
  split_on_numerics: optional.flag,
  preserve_original: optional.flag,
  index_operators: optional.flag,
  number_of_items: optional.count,
  probability: optional.of(z.number()),
  page_size: optional.count,
}

const vectorMembers = {
  distance_type: optional.of(
    z
      .string()
      .toLowerCase()
      .pipe(z.enum(['l2', 'cosine', 'dot', 'hamming'])),
  ),
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
  with_position: optional.flag,
  base_tokenizer: optional.of(caseInsensitiveWord(['simple', 'whitespace', 'raw', 'ngram'])),
  language: optional.of(caseInsensitiveWord(languages)),
  max_token_length: boundedInt(65_536, 0),
  lower_case: optional.flag,
  stem: optional.flag,
  remove_stop_words: optional.flag,
  ascii_folding: optional.flag,
  min_ngram_length: boundedInt(64),
  max_ngram_length: boundedInt(64),
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
  branch: optional.text,
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

const pointMembers = { version: optional.count, branch: optional.text }

const indexContent = z
  .object({
    index_name: z.string(),
    index_uuid: z.string(),
    columns: z.array(z.string()).readonly(),
    status: z.string(),
    index_type: z.string().optional(),
    type_url: z.string().optional(),
    num_indexed_rows: int64.optional(),
    num_unindexed_rows: int64.optional(),
    size_bytes: int64.optional(),
    num_segments: int64.optional(),
    created_at: z.iso.datetime().optional(),
    index_version: int64.optional(),
    /** JSON text. */
    index_details: z.string().optional(),
  })
  .meta({ id: 'IndexContent' })

/** Some catalogs build an index in a job. */
const startedResponse = changeResponseSchema({ job_id: z.string().optional() })

export const indexSchemas = {
  CreateTableIndex: { request: createIndex, response: startedResponse },
  CreateTableScalarIndex: {
    request: createIndex.refine((sent) => !sent.index_type.startsWith('IVF_'), {
      path: ['index_type'],
      message: 'expected the type of a scalar index',
    }),
    response: startedResponse,
  },
  ListTableIndices: pageSchemas({ ...pointMembers, ...pagingMembers }, { indexes: z.array(indexContent) }),
  DescribeTableIndexStats: schemas(
    { ...pointMembers, index_name: optional.text },
    {
      distance_type: z.string().optional(),
      index_type: z.string().optional(),
      num_indexed_rows: int64.optional(),
      num_unindexed_rows: int64.optional(),
      num_indices: int64.optional(),
    },
  ),
  DropTableIndex: changeSchemas({ branch: optional.text, index_name: optional.text }, {}),
  PrewarmTableIndex: schemas({ index_name: optional.text }, {}),
}
