import { describe, expect, it } from 'vitest'
import { queryTableRequestSchema } from '../../../schemas/query.ts'

const match = { terms: 'a', column: 'name' }

describe('both forms of a query are equal', () => {
  it.each([
    [{ vector: { single_vector: [1, 2] } }, { vector: [1, 2] }],
    [{ vector: { multi_vector: [[1], [2]] } }, { vector: [[1], [2]] }],
    [{ vector: { single_vector: [] } }, { vector: [] }],
    [{ vector: null }, {}],
    [{ columns: { column_names: ['id'] } }, { columns: ['id'] }],
    [{ columns: { column_aliases: { a: 'b + 1' } } }, { columns: { a: 'b + 1' } }],
    [{ full_text_query: { string_query: { query: 'a' } } }, { full_text_query: { query: 'a', columns: [] } }],
    [
      { full_text_query: { structured_query: { query: { match } } } },
      { full_text_query: { query: { match } } },
    ],
    [{ columns: { column_aliases: { a: 'b + 1' } } }, { columns: [['a', 'b + 1']] }],
    ...[
      (multi_match: object) => ({ multi_match }),
      (multi_match: object) => ({ boolean: { must: [{ multi_match }] } }),
      (multi_match: object) => ({ boost: { positive: { multi_match }, negative: { match } } }),
    ].map((nest): [object, object] => [
      { full_text_query: { query: nest({ match_queries: [1, 2].map((boost) => ({ ...match, boost })) }) } },
      { full_text_query: { query: nest({ query: 'a', columns: ['name', 'name'], boost: [1, 2] }) } },
    ]),
  ])('%j means %j', (ofTheInterface, ofTheRemoteClient) => {
    expect(queryTableRequestSchema.parse(ofTheInterface)).toEqual(
      queryTableRequestSchema.parse(ofTheRemoteClient),
    )
  })
})

/** Parses a query that matches in several columns. */
function parseMultiMatch(multiMatch: object) {
  return queryTableRequestSchema.parse({ full_text_query: { query: { multi_match: multiMatch } } })
}

it.each([{ query: 'a', columns: ['name'] }, { query: 'a', columns: ['name'], boost: [1] }, { boost: null }])(
  'beside match_queries, %j has no effect',
  (other) => {
    const matchQueries = { match_queries: [match] }
    expect(parseMultiMatch({ ...matchQueries, ...other })).toEqual(parseMultiMatch(matchQueries))
  },
)

describe('invalid queries are rejected', () => {
  it.each([
    { k: 1.5 },
    { vector: [[1], 2] },
    { vector: { single_vector: [1], multi_vector: [[1]] } },
    { vector: Array.from({ length: 1001 }, () => [1]) },
    { columns: { column_names: ['id'], column_aliases: { a: 'b' } } },
    { columns: [1] },
    { columns: ['id', ['a', 'b']] },
    { columns: [['a', 'b', 'c']] },
    { columns: [['a']] },
    { columns: [['', 'b']] },
    { columns: ['b', 'c'].map((expression) => ['a', expression]) },
    ...[
      { match_queries: [match], query: 'a', columns: ['name'], slop: 1 },
      { query: 'a', columns: ['name'], match_queries: [] },
      { query: 'a', columns: ['name'], slop: 1 },
      { query: 'a', columns: ['name'], boost: [1, 2] },
      { query: 'a', columns: [] },
      { query: 'a' },
    ].map((multi_match) => ({ full_text_query: { query: { multi_match } } })),
    { distance_type: 'manhattan' },
    { full_text_query: { query: { match, phrase: { terms: 'b' } } } },
    { full_text_query: 'words' },
    { order_by: [{}] },
  ])('refuses %j', (request) => {
    expect(queryTableRequestSchema.safeParse(request).success).toBe(false)
  })
})
