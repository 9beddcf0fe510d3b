import { z } from 'zod'

/** No client nests deeper. Checked before the query is walked. */
const maxQueryDepth = 32

/** An integer that may exceed 2^53: a client that wants all rows sends k = 2^63-1. */
export const countSchema = z
  .number()
  .refine((value) => Number.isInteger(value) && value >= 0, 'expected an integer >= 0')
  .meta({ type: 'integer', minimum: 0 })

const column = z.string().min(1).nullish()

const matchQuery = z
  .object({
    terms: z.string(),
    column,
    boost: z.number().nullish(),
    fuzziness: countSchema.nullish(),
    max_expansions: countSchema.nullish(),
    operator: z
      .string()
      .toLowerCase()
      .pipe(z.enum(['and', 'or']))
      .nullish(),
    prefix_length: countSchema.nullish(),
    document_granularity: z.string().nullish(),
  })
  .meta({ id: 'MatchQuery' })

const phraseQuery = z
  .object({
    terms: z.string(),
    column,
    slop: countSchema.nullish(),
    document_granularity: z.string().nullish(),
  })
  .meta({ id: 'PhraseQuery' })

/** Matches words in one column, or in every indexed column if none is named. */
export type MatchQuery = Readonly<z.output<typeof matchQuery>>

/** Node of a structured full-text query. */
export type TextQuery =
  | { readonly match: MatchQuery }
  | { readonly phrase: Readonly<z.output<typeof phraseQuery>> }
  | { readonly boost: BoostQuery }
  | { readonly multi_match: MultiMatchQuery }
  | { readonly boolean: BooleanQuery }

interface MultiMatchQuery {
  readonly match_queries: readonly MatchQuery[]
}

/** Rows that match `positive`, ranked lower if they also match `negative`. */
interface BoostQuery {
  readonly positive: TextQuery
  readonly negative: TextQuery
  readonly negative_boost?: number | null | undefined
}

interface BooleanQuery {
  readonly must: readonly TextQuery[]
  readonly should: readonly TextQuery[]
  readonly must_not: readonly TextQuery[]
}

/** The form of the remote client from 0.40 on; converted to `match_queries`. */
const multiColumnMatch = z
  .strictObject({
    query: z.string(),
    columns: z.array(z.string().min(1)).min(1),
    boost: z.array(z.number()).nullish(),
  })
  .refine(
    ({ columns, boost }) => boost == null || boost.length === columns.length,
    'expected one boost for each column',
  )
  .transform(({ query: terms, columns, boost }): MultiMatchQuery => ({
    match_queries: columns.map((column, index) => ({ terms, column, boost: boost?.[index] })),
  }))

/** The remote client from 0.41 on adds the members of the other form, which say less. */
const multiMatchQueries = z
  .strictObject({
    match_queries: z.array(matchQuery).min(1),
    query: z.string().nullish(),
    columns: z.array(z.string()).nullish(),
    boost: z.array(z.number()).nullish(),
  })
  .meta({ id: 'MultiMatchQuery' })
  .transform(({ match_queries }): MultiMatchQuery => ({ match_queries }))

const multiMatchQuery = z.union(
  [multiMatchQueries, multiColumnMatch],
  'expected {"match_queries": [...]} or {"query": words, "columns": names, "boost": numbers}',
)

const combinedFields = z
  .object({
    query: z.string(),
    columns: z.array(z.string()),
    boost: z.array(z.number()).nullish(),
    operator: z.string().nullish(),
  })
  .meta({ id: 'CombinedFieldsQuery' })

/** The remote client from 0.41 on has it; the engine does not. */
const combinedFieldsQuery = z
  .object({ combined_fields: combinedFields })
  .transform((_query, context): never => {
    context.addIssue({ code: 'custom', message: 'combined_fields is not supported by this catalog' })
    return z.NEVER
  })

const textQuery: z.ZodType<TextQuery> = z.lazy(() =>
  z.xor(
    [
      z.object({ match: matchQuery }),
      z.object({ phrase: phraseQuery }),
      z.object({ boost: boostQuery }),
      z.object({ multi_match: multiMatchQuery }),
      z.object({ boolean: booleanQuery }),
      combinedFieldsQuery,
    ],
    'expected an object with exactly one of match, phrase, boost, multi_match, boolean',
  ),
)

z.globalRegistry.add(textQuery, { id: 'FtsQuery' })

const boostQuery = z
  .object({ positive: textQuery, negative: textQuery, negative_boost: z.number().nullish() })
  .meta({ id: 'BoostQuery' })

const textQueries = z.array(textQuery).default([])
const booleanQuery = z
  .object({ must: textQueries, should: textQueries, must_not: textQueries })
  .meta({ id: 'BooleanQuery' })

/** Words to search in some columns (default: all indexed ones), or a structured query. */
export type FullTextQuery =
  | { readonly words: string; readonly columns: readonly string[] | undefined }
  | { readonly structured: TextQuery }

const wordsQuery = z
  .object({ columns: z.array(z.string().min(1)).nullish(), query: z.string() })
  .meta({ id: 'StringFtsQuery' })
  .transform(({ columns, query }): FullTextQuery => ({
    words: query,
    columns: columns?.length ? columns : undefined,
  }))

const structuredQuery = z
  .object({ query: textQuery })
  .meta({ id: 'StructuredFtsQuery' })
  .transform(({ query }): FullTextQuery => ({ structured: query }))

const wrappedQuery = z
  .object({ string_query: wordsQuery.nullish(), structured_query: structuredQuery.nullish() })
  .refine((both) => (both.string_query == null) !== (both.structured_query == null))
  .meta({ id: 'QueryTableRequestFullTextQuery' })
  .transform((either) => either.string_query ?? either.structured_query ?? z.NEVER)

/**
 * Full-text part of a query: `{string_query}` or `{structured_query}` as in the interface, or their content without the
 * wrapper, as the remote client sends it.
 */
export const fullTextQuerySchema = z.preprocess(
  (value, context) => {
    if (isShallow(value, maxQueryDepth)) return value
    context.addIssue({ code: 'custom', message: `expected at most ${maxQueryDepth} levels` })
    return z.NEVER
  },
  z.union(
    [wrappedQuery, wordsQuery, structuredQuery],
    'expected {"string_query": {"query": words}} or {"structured_query": {"query": an object with exactly one of ' +
      'match, phrase, boost, multi_match, boolean}}, or the content of either',
  ),
)

function isShallow(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return true
  return levels > 0 && Object.values(value).every((member) => isShallow(member, levels - 1))
}
