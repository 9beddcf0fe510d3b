import { getMembers, isListOfStrings, isObject } from '../../lib/index.ts'
import type { CallerRestriction, VisibleColumns } from '../../policy/index.ts'
import type { JsonObject } from '../facts/stated-facts.ts'
import {
  assertUnderstood,
  isAbsent,
  missingColumnError,
  restrictFilter,
  unsupportedError,
  type MemberChanges,
} from './restricted-read.ts'

/** The changes of a query, and the columns that its response may have. */
export interface RestrictedQuery {
  readonly changes: MemberChanges
  /** Paths of columns of the table, and columns that a search adds. */
  readonly columns: ReadonlySet<string>
}

/** Members that are checked here, or that choose among visible rows only. */
const understood: ReadonlySet<string> = new Set([
  'id',
  'context',
  'k',
  'offset',
  'filter',
  'prefilter',
  'columns',
  'order_by',
  'vector',
  'vector_column',
  'distance_type',
  'nprobes',
  'minimum_nprobes',
  'maximum_nprobes',
  'ef',
  'refine_factor',
  'lower_bound',
  'upper_bound',
  'bypass_vector_index',
  'full_text_query',
  'fast_search',
  'with_row_id',
  'version',
  'branch',
])

/** The column that engines add to the rows that a search found, even if a query names columns; undefined without a search. */
type SearchColumn = '_distance' | '_score' | undefined

/** The column that says which of several vectors found a row. */
const vectorIndexColumn = 'query_index'

/**
 * Restricts a query to visible columns and rows. Names of columns come from the policy, filters are parsed and
 * printed, and results that depend on hidden rows are refused: row ids have gaps, an index of vectors finds other
 * neighbors, and a filter after a search leaves fewer rows. Throws InvalidInput (400).
 */
export function restrictQuery(
  query: JsonObject,
  restriction: CallerRestriction,
  isLancedb: boolean,
): RestrictedQuery {
  assertUnderstood(query, understood)
  if (query['with_row_id'] === true)
    throw unsupportedError('"with_row_id", as hybrid searches have it, is not supported')
  const { columns, rows } = restriction
  // Without columns, engines return all of them.
  if (columns.size === 0) throw unsupportedError('no column of the table may be read')
  const vectors = listVectors(query['vector'])
  const isVectorSearch = vectors.some((list) => list.length > 0)
  const hasSeveralVectors = vectors.some((list) => list.length > 1 && list.some(Array.isArray))
  const isTextSearch = !isAbsent(query['full_text_query'])
  if (isVectorSearch && isTextSearch)
    throw unsupportedError('"full_text_query" with "vector" is not supported; send two queries')
  if (isTextSearch) assertTextQuery(query['full_text_query'], restriction)
  const searchColumn = isVectorSearch ? '_distance' : isTextSearch ? '_score' : undefined
  const { vector_column: vectorColumn } = query
  if (!isAbsent(vectorColumn)) assertVisible(vectorColumn, columns)
  else if (isVectorSearch)
    throw unsupportedError('"vector_column" is missing; expected the column that is searched')
  assertOrder(query['order_by'], columns)
  const filter = restrictFilter('filter', query['filter'], restriction)
  const isFiltered = filter !== undefined && filter !== restriction.rows
  if (searchColumn !== undefined && isFiltered && query['prefilter'] === false)
    throw unsupportedError('"prefilter" is false: a filter after the search is not supported; omit it')
  const { value, selected } = restrictColumns(query['columns'], columns, searchColumn, isLancedb)
  const changes = new Map<string, unknown>([['columns', value]])
  changes.set('filter', filter)
  if (filter !== undefined) changes.set('prefilter', true)
  if (isVectorSearch && rows !== undefined) changes.set('bypass_vector_index', true)
  // It leaves out rows without an index, and engines then return other columns than those that were asked for.
  changes.set('fast_search', undefined)
  const responseColumns = new Set(selected)
  if (searchColumn !== undefined) responseColumns.add(searchColumn)
  if (hasSeveralVectors) responseColumns.add(vectorIndexColumn)
  return { changes, columns: responseColumns }
}

/** Returns the lists of all forms of `vector`: of numbers, or of lists of numbers. */
function listVectors(vector: unknown): readonly (readonly unknown[])[] {
  const lists = isObject(vector) ? [vector['single_vector'], vector['multi_vector']] : [vector]
  return lists.filter((list) => Array.isArray(list))
}

function assertOrder(order: unknown, columns: VisibleColumns): void {
  if (isAbsent(order)) return
  if (!Array.isArray(order)) throw unsupportedError('"order_by" is no list')
  for (const item of order) assertVisible(getMembers(item)['column_name'], columns)
}

/** Throws InvalidInput (400) unless it is the name of a visible column, as the policy spells it. */
function assertVisible(name: unknown, columns: VisibleColumns): void {
  if (typeof name !== 'string' || !columns.has(name)) throw missingColumnError(String(name))
}

/**
 * Selects the named columns, and returns the member `columns` in the form of the client: a list, or one in `column_names`.
 * Without names, engines return all columns: then all visible ones are selected.
 */
function restrictColumns(
  sent: unknown,
  columns: VisibleColumns,
  searchColumn: SearchColumn,
  isLancedb: boolean,
) {
  const { column_names: listed, ...others } = isObject(sent) ? sent : { column_names: sent }
  const names = isAbsent(listed) ? [] : listed
  if (!isListOfStrings(names) || !Object.values(others).every(isAbsent))
    throw unsupportedError('"columns" is no list of names; expressions are not supported')
  const missing = names.find((name) => !columns.has(name) && name !== searchColumn)
  if (missing !== undefined) throw missingColumnError(missing)
  const all = [...columns.keys(), ...(searchColumn === undefined ? [] : [searchColumn])]
  const isNamed = names.length > 0
  const selected = isNamed ? names : all
  const isWrapped = isNamed ? isObject(sent) : !isLancedb
  return { value: isWrapped ? { column_names: selected } : selected, selected }
}

/**
 * Throws InvalidInput (400) unless a full-text query searches visible columns only. Scores depend on all rows of a table, so there
 * is none for callers who see some of them. Without a column, engines search all indexed ones.
 */
function assertTextQuery(query: unknown, { columns, rows }: CallerRestriction): void {
  if (rows !== undefined)
    throw unsupportedError('"full_text_query" is not supported, because scores depend on all rows; omit it')
  if (countWords(query, columns) === 0)
    throw unsupportedError('"full_text_query" has no words; expected words and the columns that are searched')
}

/**
 * Counts the parts that have words. In every form of the query, they name the columns in which the words are searched
 * (`fullTextQuerySchema`). Throws InvalidInput (400) for a part without columns or with a hidden one.
 */
function countWords(part: unknown, columns: VisibleColumns): number {
  if (Array.isArray(part)) return part.reduce<number>((sum, item) => sum + countWords(item, columns), 0)
  if (!isObject(part)) return 0
  const { terms, query, column, columns: several, ...others } = part
  const named = [...(isAbsent(column) ? [] : [column]), ...(Array.isArray(several) ? several : [])]
  const hidden = named.find((name) => typeof name !== 'string' || !columns.has(name))
  if (hidden !== undefined) throw missingColumnError(String(hidden))
  const hasWords = typeof terms === 'string' || typeof query === 'string'
  if (hasWords && named.length === 0)
    throw unsupportedError('"full_text_query" names no column; expected those that are searched')
  return (hasWords ? 1 : 0) + countWords([query, ...Object.values(others)], columns)
}
