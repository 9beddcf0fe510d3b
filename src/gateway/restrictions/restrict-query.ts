import { quoteForMessage } from '../../catalog-api/index.ts'
import { getMembers, isListOfStrings, isObject } from '../../lib/index.ts'
import { type CallerRestriction, printColumnExpression, type VisibleColumns } from '../../policy/index.ts'
import type { JsonObject } from '../facts/stated-facts.ts'
import {
  assertMembersUnderstood,
  assertReadsNewest,
  createColumnFinder,
  isAbsent,
  missingColumnError,
  readCallerText,
  restrictFilter,
  unsupportedError,
  type MemberChanges,
} from './restricted-read.ts'

/** A query as it is sent, and what its response may have. */
export interface RestrictedQuery {
  readonly changes: MemberChanges
  /** Columns of the response: paths of the table, or names that the query gives. */
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
 * Restricts a query to visible columns and rows. Names of columns come from the policy, filters and expressions are printed anew,
 * and what depends on hidden rows is refused: row ids have gaps, an index of vectors finds other neighbors, and a filter
 * after a search leaves fewer rows. Throws InvalidInput (400).
 */
export function restrictQuery(
  query: JsonObject,
  restriction: CallerRestriction,
  isLancedb: boolean,
): RestrictedQuery {
  assertMembersUnderstood(query, understood)
  assertReadsNewest(query)
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
  assertVectorColumn(query['vector_column'], isVectorSearch, columns)
  assertOrder(query['order_by'], columns)
  const filter = restrictFilter('filter', query['filter'], restriction)
  const isFiltered = filter !== undefined && filter !== restriction.rows
  if (searchColumn !== undefined && isFiltered && query['prefilter'] === false)
    throw unsupportedError('"prefilter" is false: a filter after the search is not supported; omit it')
  const selected = restrictColumns(query['columns'], columns, searchColumn, isLancedb)
  const changes = new Map<string, unknown>([['columns', selected.value]])
  changes.set('filter', filter)
  if (filter !== undefined) changes.set('prefilter', true)
  if (isVectorSearch && rows !== undefined) changes.set('bypass_vector_index', true)
  // It leaves out rows without an index, and engines then return other columns than those that were asked for.
  changes.set('fast_search', undefined)
  const added = [
    ...(searchColumn === undefined ? [] : [searchColumn]),
    ...(hasSeveralVectors ? [vectorIndexColumn] : []),
  ]
  return { changes, columns: new Set([...selected.names, ...added]) }
}

/** Returns the lists of all forms of `vector`: of numbers, or of lists of numbers. */
function listVectors(vector: unknown): readonly (readonly unknown[])[] {
  const lists = isObject(vector) ? [vector['single_vector'], vector['multi_vector']] : [vector]
  return lists.filter((list) => Array.isArray(list))
}

function assertVectorColumn(name: unknown, isSearch: boolean, columns: VisibleColumns): void {
  if (isAbsent(name)) {
    if (isSearch) throw unsupportedError('"vector_column" is missing; expected the column that is searched')
    return
  }
  assertVisible(name, columns)
}

function assertOrder(order: unknown, columns: VisibleColumns): void {
  if (isAbsent(order)) return
  if (!Array.isArray(order)) throw unsupportedError('"order_by" is no list')
  for (const item of order) assertVisible(getMembers(item)['column_name'], columns)
}

/** Throws InvalidInput (400) unless it is the name of a visible column, as the policy spells it. */
function assertVisible(name: unknown, columns: VisibleColumns): asserts name is string {
  if (typeof name !== 'string' || !columns.has(name)) throw missingColumnError(String(name))
}

interface SelectedColumns {
  /** The member `columns`. */
  readonly value: unknown
  readonly names: ReadonlySet<string>
}

/** Without a selection, selects all visible columns, in the form that the client would use. */
function restrictColumns(
  sent: unknown,
  columns: VisibleColumns,
  searchColumn: SearchColumn,
  isLancedb: boolean,
): SelectedColumns {
  const { names, expressions, isMap, member } = readSelection(sent)
  const wrap = (selected: unknown): unknown => (member === undefined ? selected : { [member]: selected })
  if (names !== undefined) {
    const missing = names.find((name) => !columns.has(name) && name !== searchColumn)
    if (missing !== undefined) throw missingColumnError(missing)
    return { value: wrap(names), names: new Set(names) }
  }
  if (expressions !== undefined) {
    const printed = restrictExpressions(expressions, columns, searchColumn)
    const value = wrap(isMap === true ? Object.fromEntries(printed) : printed)
    return { value, names: new Set(printed.map(([alias]) => alias)) }
  }
  const all = [...columns.keys(), ...(searchColumn === undefined ? [] : [searchColumn])]
  return { value: isLancedb ? all : { column_names: all }, names: new Set(all) }
}

type Expressions = readonly (readonly [alias: string, expression: unknown])[]

/** What `columns` selects; neither names nor expressions for all columns. */
interface Selection {
  readonly names?: readonly string[]
  readonly expressions?: Expressions
  /** Whether the expressions are a map, not a list of pairs. */
  readonly isMap?: boolean
  /** The member of `columns` that holds the selection; undefined if `columns` is the selection. */
  readonly member?: 'column_names' | 'column_aliases'
}

/** Reads all forms of `columns` (`queryTableRequestSchema`). An empty list or map selects all columns. */
function readSelection(sent: unknown): Selection {
  if (isAbsent(sent)) return {}
  if (isListOfStrings(sent)) return sent.length === 0 ? {} : { names: sent }
  if (Array.isArray(sent) && sent.every(isPair)) return { expressions: sent }
  if (isObject(sent)) {
    if (Object.keys(sent).length === 0) return {}
    const { column_names: names, column_aliases: aliases, ...others } = sent
    if (names === undefined && aliases === undefined)
      return { expressions: Object.entries(sent), isMap: true }
    const hasOthers = Object.keys(others).length > 0
    if (!hasOthers && isAbsent(names) && isAbsent(aliases)) return {}
    if (!hasOthers && isAbsent(aliases) && isListOfStrings(names))
      return names.length === 0 ? {} : { names, member: 'column_names' }
    if (!hasOthers && isAbsent(names) && isObject(aliases))
      return { expressions: Object.entries(aliases), isMap: true, member: 'column_aliases' }
  }
  throw unsupportedError('"columns" is neither a list of names nor a map of expressions')
}

function isPair(value: unknown): value is [string, string] {
  return isListOfStrings(value) && value.length === 2
}

/** Names that the query gives must not be read as anything but a name. */
const aliasGrammar = /^[A-Za-z][A-Za-z0-9_]{0,255}$/

function restrictExpressions(
  expressions: Expressions,
  columns: VisibleColumns,
  searchColumn: SearchColumn,
): readonly (readonly [alias: string, expression: string])[] {
  const findColumn = createColumnFinder(columns)
  return expressions.map(([alias, expression]) => {
    if (!aliasGrammar.test(alias))
      throw unsupportedError(
        `the name ${quoteForMessage(alias)} is not supported; expected letters, digits and "_"`,
      )
    if (searchColumn !== undefined && expression === searchColumn) return [alias, searchColumn]
    if (typeof expression !== 'string') throw unsupportedError(`${quoteForMessage(alias)} is no text`)
    return [alias, readCallerText(alias, () => printColumnExpression(expression, findColumn))]
  })
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
 * Counts the parts that have words. Whatever the form of the query, they name the columns in which the words are searched
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
