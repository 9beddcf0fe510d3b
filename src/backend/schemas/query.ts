import { z } from 'zod'
import { getMembers, isObject } from 'catalog-gateway/lib'
import { countSchema, fullTextQuerySchema } from './full-text-query.ts'
import { distanceType, every, flagMember, optional, requestSchema } from './members.ts'

const maxVectors = 1000

const name = z.string().min(1)
const count = optional.of(countSchema)

const vectors = z
  .union(
    [
      z
        .object({
          single_vector: z.array(z.number()).nullish(),
          multi_vector: z.array(z.array(z.number())).nullish(),
        })
        .refine(
          (both) => both.single_vector == null || both.multi_vector == null,
          'expected only one of the two',
        )
        .meta({ id: 'QueryTableRequestVector' })
        .transform((either) => either.multi_vector ?? [either.single_vector ?? []]),
      z.array(z.number()).transform((vector) => [vector]),
      z.array(z.array(z.number())),
    ],
    'expected {"single_vector": numbers} or {"multi_vector": lists of numbers}, or the content of either',
  )
  .transform((list) => list.filter((vector) => vector.length > 0))
  .refine((list) => list.length <= maxVectors, `expected at most ${maxVectors} vectors`)

type Columns =
  | { readonly names: readonly string[] }
  | { readonly expressions: readonly [alias: string, expression: string][] }

const columnNames = z.array(name).transform((names): Columns => ({ names }))
const columnExpressions = z
  .record(name, z.string())
  .transform((map): Columns => ({ expressions: Object.entries(map) }))

/** The form of older remote clients. */
const columnPairs = z
  .array(z.tuple([name, z.string()]))
  .refine((pairs) => new Set(pairs.map(([alias]) => alias)).size === pairs.length, 'expected each alias once')
  .transform((expressions): Columns => ({ expressions }))

const columns = z.union(
  [
    z
      .strictObject({ column_names: columnNames.nullish(), column_aliases: columnExpressions.nullish() })
      .refine(
        (both) => both.column_names == null || both.column_aliases == null,
        'expected only one of the two',
      )
      .meta({ id: 'QueryTableRequestColumns' })
      .transform((either): Columns | undefined => either.column_names ?? either.column_aliases ?? undefined),
    columnNames,
    columnPairs,
    columnExpressions,
  ],
  'expected {"column_names": names} or {"column_aliases": SQL expressions by alias}, or the content of either, or a ' +
    'list of pairs [alias, SQL expression]',
)

const order = z.object({
  column_name: name,
  ascending: z.boolean().default(true),
  nulls_first: z.boolean().default(false),
})

/**
 * Accepts the form of the catalog API (`vector: {single_vector}`, `columns: {column_names}`) and that of the remote
 * client (`vector: []`, `columns: []`, a map or a list of pairs). Parsed `vector` is empty if the query is no vector search.
 */
export const queryTableRequestSchema = requestSchema({
  vector: vectors.nullish().transform((list) => list ?? []),
  vector_column: optional.of(name),
  distance_type: optional.of(distanceType),
  nprobes: count.describe('legacy, exact; ignored where minimum_nprobes or maximum_nprobes are given'),
  ...every(count, 'k', 'offset', 'minimum_nprobes', 'maximum_nprobes', 'ef', 'refine_factor'),
  ...every(optional.number, 'lower_bound', 'upper_bound'),
  ...every(optional.flag, 'bypass_vector_index', 'fast_search', 'prefilter', 'with_row_id'),
  ...every(optional.text, 'filter', 'branch'),
  columns: optional.of(columns),
  full_text_query: optional.of(fullTextQuerySchema),
  order_by: optional.of(z.array(order)),
  version: optional.count,
  // Extensions of the remote client that affect the search.
  approx_mode: optional.text,
  search_effort: optional.of(z.number().min(0).max(1)),
  ...every(optional.flag, 'use_lsm', 'use_rte'),
}).meta({ id: 'QueryTableRequest' })

export type TableQuery = Readonly<z.output<typeof queryTableRequestSchema>>

const nestedQuery = requestSchema({
  branch: optional.text,
  query: queryTableRequestSchema,
  verbose: flagMember,
}).refine(
  ({ branch, query }) => !branch || !query.branch || branch === query.branch,
  'expected one branch, not two',
)

/** The query is the member `query` (older clients of AnalyzeTableQueryPlan send it, too), or a request that is one itself. */
const planRequest = (isQuery: (members: object) => boolean) =>
  z.preprocess((sent) => {
    const members = getMembers(sent)
    if (isObject(members['query']) || !isQuery(members)) return sent
    return { ...members, query: { ...members, id: undefined } }
  }, nestedQuery)

export const planSchemas = {
  ExplainTableQueryPlan: {
    request: planRequest((members) => 'k' in members || 'vector' in members),
    response: z.string(),
  },
  AnalyzeTableQueryPlan: { request: planRequest(() => true), response: z.string() },
}
