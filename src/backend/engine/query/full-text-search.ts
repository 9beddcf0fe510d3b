import type * as native from '@lancedb/lancedb/native'
import { CatalogError, quoteForMessage } from 'catalog-gateway/catalog-api'
import { type FullTextQuery, type MatchQuery, type TextQuery } from '../../schemas/full-text-query.ts'
import { JsFullTextQuery } from '../native/native-module.ts'

const defaultExpansions = 50
const defaultNegativeBoost = 0.5

/** Builds the argument of the engine's `fullTextSearch`. Throws Unsupported for what the engine cannot do. */
export function toFullTextSearch(sent: FullTextQuery) {
  const { query } = sent
  if (typeof query === 'string') return { query, columns: 'columns' in sent ? sent.columns : null }
  if ('match' in query) assertWholeRows(query.match)
  // For bare words the engine itself does a plain match without a column: it searches every indexed column.
  if ('match' in query && query.match.column == null && isSimpleMatch(query.match)) {
    return { query: query.match.terms, columns: null }
  }
  return { query: toNative(query) }
}

function toNative(query: TextQuery): native.JsFullTextQuery {
  if ('match' in query) return toMatchQuery(query.match)
  if ('phrase' in query) {
    assertWholeRows(query.phrase)
    return JsFullTextQuery.phraseQuery(
      query.phrase.terms,
      requireColumn(query.phrase),
      query.phrase.slop ?? 0,
    )
  }
  if ('multi_match' in query) return toMultiMatchQuery(query.multi_match.match_queries)
  if ('boost' in query) {
    const { positive, negative, negative_boost: boost } = query.boost
    return JsFullTextQuery.boostQuery(toNative(positive), toNative(negative), boost ?? defaultNegativeBoost)
  }
  const { must, should, must_not: mustNot } = query.boolean
  const toClauses = (occur: string, queries: readonly TextQuery[]) =>
    queries.map((part): [string, native.JsFullTextQuery] => [occur, toNative(part)])
  return JsFullTextQuery.booleanQuery([
    ...toClauses('MUST', must),
    ...toClauses('SHOULD', should),
    ...toClauses('MUST_NOT', mustNot),
  ])
}

function toMatchQuery(match: MatchQuery): native.JsFullTextQuery {
  assertWholeRows(match)
  return JsFullTextQuery.matchQuery(
    match.terms,
    requireColumn(match),
    match.boost ?? 1,
    // Null lets the engine choose by word length; absent is an exact match.
    match.fuzziness === undefined ? 0 : match.fuzziness,
    match.max_expansions ?? defaultExpansions,
    getOperator(match),
    match.prefix_length ?? 0,
  )
}

/** The engine searches several columns for one text only; boosts may differ by column. */
function toMultiMatchQuery(matches: readonly MatchQuery[]): native.JsFullTextQuery {
  const [first] = matches
  const isDifferent = (match: MatchQuery) =>
    match.terms !== first?.terms ||
    getOperator(match) !== getOperator(first) ||
    !isSimpleMatch({ ...match, boost: 1, operator: 'or' })
  if (first === undefined || matches.some(isDifferent)) {
    throw new CatalogError(
      'Unsupported',
      'multi_match is supported for the same terms and operator in every column',
    )
  }
  for (const match of matches) assertWholeRows(match)
  const boosts = matches.map((match) => match.boost ?? 1)
  return JsFullTextQuery.multiMatchQuery(first.terms, matches.map(requireColumn), boosts, getOperator(first))
}

function getOperator(match: MatchQuery): string {
  return (match.operator ?? 'or').toUpperCase()
}

function isSimpleMatch(match: MatchQuery): boolean {
  return (
    (match.boost ?? 1) === 1 &&
    (match.fuzziness ?? 0) === 0 &&
    (match.max_expansions ?? defaultExpansions) === defaultExpansions &&
    (match.prefix_length ?? 0) === 0 &&
    getOperator(match) === 'OR'
  )
}

/** The engine searches whole rows, not the elements of a list one by one. */
function assertWholeRows(query: { readonly document_granularity?: string | null | undefined }): void {
  const granularity = query.document_granularity ?? 'row'
  if (granularity !== 'row') {
    throw new CatalogError(
      'Unsupported',
      `the document_granularity ${quoteForMessage(granularity)} is not supported by this catalog; expected "row"`,
    )
  }
}

function requireColumn({ column }: { readonly column?: string | null | undefined }): string {
  if (column == null)
    throw new CatalogError('Unsupported', 'a full-text query of this kind must name its column')
  return column
}
