import type * as native from '@lancedb/lancedb/native'
import { CatalogError } from 'catalog-gateway/catalog-api'
import { type TableQuery } from '../../schemas/query.ts'
import { toFullTextSearch } from './full-text-search.ts'
import { parenthesizeExpression } from '../sql/expressions.ts'

/** The engine's numbers have 32 bits and wrap around; greater ones are capped. */
export const maxUint32 = 0xffffffff

/** Rejects members that the engine would ignore. */
function rejectUnsupported(query: TableQuery): void {
  const hasText = query.full_text_query !== undefined
  const hasTextAndVector = hasText && query.vector.length > 0
  const unsupported: readonly [string, boolean][] = [
    // Without such a write path, false is the default.
    ['use_lsm', query.use_lsm === true],
    ['use_rte', query.use_rte === true],
    ['approx_mode', query.approx_mode !== undefined],
    ['search_effort', query.search_effort !== undefined],
    ['a search by text and by more than one vector', hasText && query.vector.length > 1],
    ['an offset in a search by text and vector', hasTextAndVector && !!query.offset],
    ['an order in a search by text and vector', hasTextAndVector && !!query.order_by?.length],
  ]
  for (const [feature, isRequested] of unsupported) {
    if (isRequested) throw new CatalogError('Unsupported', `${feature} is not supported by this catalog`)
  }
}

/** Whether the engine ranks rows; otherwise it scans them. */
export function isSearch(query: TableQuery): boolean {
  return query.vector.length > 0 || query.full_text_query !== undefined
}

/**
 * Throws Unsupported for members that the engine would ignore. Without `k`, a search returns 10 rows and a scan all of
 * them.
 */
export function toNativeQuery(table: native.Table, query: TableQuery): native.Query | native.VectorQuery {
  rejectUnsupported(query)
  const scan = table.query()
  const [vector, ...others] = query.vector
  const prepared = vector ? toVectorQuery(scan.nearestTo(Float32Array.from(vector)), others, query) : scan
  if (query.full_text_query) prepared.fullTextSearch(toFullTextSearch(query.full_text_query))
  if (query.filter) prepared.onlyIf(parenthesizeExpression(query.filter))
  if (query.with_row_id) prepared.withRowId()
  if (query.fast_search) prepared.fastSearch()
  if (query.offset) prepared.offset(Math.min(query.offset, maxUint32))
  if (query.order_by?.length) prepared.orderBy(query.order_by.map(toOrdering))
  if (query.k !== undefined && (isSearch(query) || query.k < maxUint32)) {
    prepared.limit(Math.min(Math.max(query.k, 1), maxUint32))
  }
  selectColumns(prepared, query)
  return prepared
}

function toVectorQuery(
  search: native.VectorQuery,
  others: readonly number[][],
  query: TableQuery,
): native.VectorQuery {
  for (const other of others) search.addQueryVector(Float32Array.from(other))
  if (query.vector_column !== undefined) search.column(query.vector_column)
  if (query.distance_type !== undefined) search.distanceType(query.distance_type)
  // Sets both bounds. The engine rejects a maximum below the minimum, so the minimum is first.
  const probes = query.minimum_nprobes ?? query.nprobes
  if (probes !== undefined) search.nprobes(Math.min(probes, maxUint32))
  if (query.maximum_nprobes !== undefined) search.maximumNprobes(Math.min(query.maximum_nprobes, maxUint32))
  if (query.ef !== undefined) search.ef(Math.min(query.ef, maxUint32))
  if (query.refine_factor !== undefined) search.refineFactor(Math.min(query.refine_factor, maxUint32))
  if (query.lower_bound !== undefined || query.upper_bound !== undefined) {
    search.distanceRange(query.lower_bound ?? null, query.upper_bound ?? null)
  }
  if (query.bypass_vector_index) search.bypassVectorIndex()
  // Prefiltering is the default: k rows are k rows that pass the filter. The engine cannot filter after a search by text.
  if (query.prefilter === false && query.full_text_query === undefined) search.postfilter()
  return search
}

export function selectColumns(
  query: Pick<native.Query, 'select' | 'selectColumns'>,
  { columns }: TableQuery,
): void {
  if (columns && 'names' in columns) query.selectColumns([...columns.names])
  else if (columns)
    query.select(columns.expressions.map(([name, sql]) => [name, parenthesizeExpression(sql)]))
}

function toOrdering(order: NonNullable<TableQuery['order_by']>[number]) {
  return { columnName: order.column_name, ascending: order.ascending, nullsFirst: order.nulls_first }
}
