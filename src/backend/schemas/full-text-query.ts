import { z } from 'zod'
import { every, model } from './members.ts'

/** An integer that may exceed 2^53: a client that wants all rows sends k = 2^63-1. */
export const countSchema = z
  .number()
  .refine((value) => Number.isInteger(value) && value >= 0, 'expected an integer >= 0')
  .meta({ type: 'integer', minimum: 0 })

const column = z.string().min(1)
const boosts = z.array(z.number()).nullish()

const matchQuery = model('MatchQuery', {
  terms: z.string(),
  column: column.nullish(),
  boost: z.number().nullish(),
  ...every(countSchema.nullish(), 'fuzziness', 'max_expansions', 'prefix_length'),
  operator: z
    .string()
    .toLowerCase()
    .pipe(z.enum(['and', 'or']))
    .nullish(),
  document_granularity: z.string().nullish(),
})

const phraseQuery = model('PhraseQuery', {
  terms: z.string(),
  column: column.nullish(),
  slop: countSchema.nullish(),
  document_granularity: z.string().nullish(),
})

/** Matches words in one column, or in every indexed column if none is named. */
export type MatchQuery = Readonly<z.output<typeof matchQuery>>

/** The form of the remote client from 0.40 on; converted to `match_queries`. */
const multiColumnMatch = z
  .strictObject({ query: z.string(), columns: z.array(column).min(1), boost: boosts })
  .refine(
    ({ columns, boost }) => boost == null || boost.length === columns.length,
    'expected one boost for each column',
  )
  .transform(({ query: terms, columns, boost }) => ({
    match_queries: columns.map((name, index) => ({ terms, column: name, boost: boost?.[index] })),
  }))

/** The remote client from 0.41 on adds the members of the other form, which say less. */
const multiMatchQueries = z
  .strictObject({
    match_queries: z.array(matchQuery).min(1),
    query: z.string().nullish(),
    columns: z.array(z.string()).nullish(),
    boost: boosts,
  })
  .meta({ id: 'MultiMatchQuery' })
  .transform(({ match_queries }) => ({ match_queries }))

const multiMatchQuery = z.union(
  [multiMatchQueries, multiColumnMatch],
  'expected {"match_queries": [...]} or {"query": words, "columns": names, "boost": numbers}',
)

const combinedFields = model('CombinedFieldsQuery', {
  query: z.string(),
  columns: z.array(z.string()),
  boost: boosts,
  operator: z.string().nullish(),
})

/** The remote client from 0.41 on has it; the engine does not. */
const combinedFieldsQuery = z
  .object({ combined_fields: combinedFields })
  .transform((_query, context): never => {
    context.addIssue({ code: 'custom', message: 'combined_fields is not supported by this catalog' })
    return z.NEVER
  })

const textQuery = z
  .xor(
    [
      z.object({ match: matchQuery }),
      z.object({ phrase: phraseQuery }),
      z.object({
        get boost() {
          return boostQuery
        },
      }),
      z.object({ multi_match: multiMatchQuery }),
      z.object({
        get boolean() {
          return booleanQuery
        },
      }),
      combinedFieldsQuery,
    ],
    'expected an object with exactly one of match, phrase, boost, multi_match, boolean',
  )
  .meta({ id: 'FtsQuery' })

/** Rows that match `positive`, ranked lower if they also match `negative`. */
const boostQuery = model('BoostQuery', {
  get positive() {
    return textQuery
  },
  get negative() {
    return textQuery
  },
  negative_boost: z.number().nullish(),
})

const booleanQuery = model('BooleanQuery', {
  get must() {
    return z.array(textQuery).default([])
  },
  get should() {
    return z.array(textQuery).default([])
  },
  get must_not() {
    return z.array(textQuery).default([])
  },
})

/** Node of a structured full-text query. */
export type TextQuery = z.output<typeof textQuery>

/** Words to search in some columns, by default in all indexed ones. */
const wordsQuery = model('StringFtsQuery', {
  columns: z
    .array(column)
    .nullish()
    .transform((names) => (names?.length ? names : null)),
  query: z.string(),
})

const structuredQuery = model('StructuredFtsQuery', { query: textQuery })

const wrappedQuery = z
  .object({ string_query: wordsQuery.nullish(), structured_query: structuredQuery.nullish() })
  .refine((both) => (both.string_query == null) !== (both.structured_query == null))
  .meta({ id: 'QueryTableRequestFullTextQuery' })
  .transform((either) => either.string_query ?? either.structured_query ?? z.NEVER)

/**
 * Full-text part of a query: `{string_query}` or `{structured_query}` as in the interface, or their content without the
 * wrapper, as the remote client sends it.
 */
export const fullTextQuerySchema = z.union(
  [wrappedQuery, wordsQuery, structuredQuery],
  'expected {"string_query": {"query": words}} or {"structured_query": {"query": an object with exactly one of ' +
    'match, phrase, boost, multi_match, boolean}}, or the content of either',
)

export type FullTextQuery = z.output<typeof fullTextQuerySchema>
