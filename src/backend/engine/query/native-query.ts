import { CatalogError } from 'catalog-gateway/catalog-api'
import { type TableQuery } from '../../schemas/query.ts'
import { toFullTextSearch } from './full-text-search.ts'
import type {
  NativeQuery,
  NativeScan,
  NativeTable,
  NativeTextQueries,
  NativeVectorQuery,
} from '../native/native-module.ts'
import { parenthesizeExpression } from '../sql/expressions.ts'

/** The selected columns, in the form of the engine's `select`. */
export type Selection = [alias: string, expression: string][]

/** The engine's numbers have 32 bits and wrap around; greater ones are capped. */
export const maxUint32 = 0xffffffff

/** Rejects members that the engine would ignore. */
function rejectUnsupported(query: TableQuery): void {
  const hasText = query.full_text_query != null
  const hasTextAndVector = hasText && query.vector.length > 0
  const unsupported: readonly [string, boolean][] = [
    // Without such a write path, false is the default.
    ['use_lsm', query.use_lsm === true],
    ['use_rte', query.use_rte === true],
    ['approx_mode', query.approx_mode != null],
    ['search_effort', query.search_effort != null],
    ['a search by text and by more than one vector', hasText && query.vector.length > 1],
    ['an offset in a search by text and vector', hasTextAndVector && !!query.offset],
    ['an order in a search by text and vector', hasTextAndVector && !!query.order_by?.length],
  ]
  for (const [feature, isRequested] of unsupported) {
    if (isRequested) throw new CatalogError('Unsupported', `${feature} is not supported by this catalog`)
  }
}

/** Throws Unsupported for members that the engine would ignore. `selection` replaces the columns. Without `k`, a search returns 10 rows and a scan all of them. */
export function toNativeQuery(
  table: NativeTable,
  factories: NativeTextQueries,
  query: TableQuery,
  selection?: Selection,
): NativeQuery | NativeVectorQuery {
  rejectUnsupported(query)
  const scan = table.query()
  const [vector, ...others] = query.vector
  const native = vector ? toVectorQuery(scan.nearestTo(Float32Array.from(vector)), others, query) : scan
  if (query.full_text_query) native.fullTextSearch(toFullTextSearch(factories, query.full_text_query))
  if (query.filter) native.onlyIf(parenthesizeExpression(query.filter))
  if (query.with_row_id) native.withRowId()
  if (query.fast_search) native.fastSearch()
  if (query.offset) native.offset(Math.min(query.offset, maxUint32))
  if (query.order_by?.length) native.orderBy(query.order_by.map(toOrdering))
  const isSearch = vector !== undefined || query.full_text_query != null
  if (query.k != null && (isSearch || query.k < maxUint32)) {
    native.limit(Math.min(Math.max(query.k, 1), maxUint32))
  }
  selectColumns(native, query, selection)
  return native
}

function toVectorQuery(
  native: NativeVectorQuery,
  others: readonly number[][],
  query: TableQuery,
): NativeVectorQuery {
  for (const other of others) native.addQueryVector(Float32Array.from(other))
  if (query.vector_column != null) native.column(query.vector_column)
  if (query.distance_type != null) native.distanceType(query.distance_type)
  setProbes(native, query)
  if (query.ef != null) native.ef(Math.min(query.ef, maxUint32))
  if (query.refine_factor != null) native.refineFactor(Math.min(query.refine_factor, maxUint32))
  if (query.lower_bound != null || query.upper_bound != null) {
    native.distanceRange(query.lower_bound ?? null, query.upper_bound ?? null)
  }
  if (query.bypass_vector_index) native.bypassVectorIndex()
  // Prefiltering is the default: k rows are k rows that pass the filter. The engine cannot filter after a search by text.
  if (query.prefilter === false && query.full_text_query == null) native.postfilter()
  return native
}

/** `nprobes` sets both bounds, the minimum first: the engine rejects a maximum below the minimum. */
function setProbes(native: NativeVectorQuery, query: TableQuery): void {
  const lower = query.minimum_nprobes ?? query.nprobes
  if (lower != null) native.nprobes(Math.min(lower, maxUint32))
  if (query.maximum_nprobes != null) native.maximumNprobes(Math.min(query.maximum_nprobes, maxUint32))
}

export function selectColumns(native: NativeScan, query: TableQuery, selection?: Selection): void {
  if (selection) native.select(selection)
  else if (query.columns && 'names' in query.columns) native.selectColumns([...query.columns.names])
  else if (query.columns)
    native.select(query.columns.expressions.map(([name, sql]) => [name, parenthesizeExpression(sql)]))
}

function toOrdering(order: NonNullable<TableQuery['order_by']>[number]) {
  return { columnName: order.column_name, ascending: order.ascending, nullsFirst: order.nulls_first }
}
