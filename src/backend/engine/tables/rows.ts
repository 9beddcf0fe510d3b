import type { MergeInsert } from '../../schemas/row-changes.ts'
import { streamToFile } from '../arrow/arrow-file.ts'
import { type TablePoint, type EngineContext, changeTable } from '../native/open-table.ts'
import { withCatalogErrors, withUploadErrors } from '../native/native-errors.ts'
import type { NativeMerge, NativeTable } from '../native/native-module.ts'
import { parenthesizeCondition, parenthesizeExpression } from '../sql/expressions.ts'

export interface MergeCounts {
  readonly version: number
  readonly inserted: number
  readonly updated: number
  readonly deleted: number
}

/** The engine's number has 32 bits and wraps around: 49 days count as no limit. */
const maxTimeoutMs = 0xffffffff

/** Changes of existing rows. Each creates a version, even if no row changes. */
export function openRows(context: EngineContext) {
  return withCatalogErrors({
    /** Merges the rows of a complete Arrow IPC stream by their key columns. */
    merge: async (point: TablePoint, upload: Uint8Array, merge: MergeInsert): Promise<MergeCounts> =>
      withUploadErrors(async () => mergeRows(context, point, upload, merge)),
    /** Sets columns to SQL expressions in the rows that a predicate selects, or in all rows. */
    update: async (
      point: TablePoint,
      predicate: string | undefined,
      updates: readonly (readonly [column: string, expression: string])[],
    ): Promise<{ version: number; rows: number }> =>
      changeTable(context, point, async (table) => {
        const columns = updates.map(([column, expression]): [string, string] => [
          column,
          parenthesizeExpression(expression),
        ])
        const { rowsUpdated, version } = await table.update(parenthesizeCondition(predicate), columns)
        return { version, rows: rowsUpdated }
      }),
    delete: async (point: TablePoint, predicate: string): Promise<{ version: number; rows: number }> =>
      changeTable(context, point, async (table) => {
        const { numDeletedRows, version } = await table.delete(parenthesizeExpression(predicate))
        return { version, rows: numDeletedRows }
      }),
  })
}

async function mergeRows(
  context: EngineContext,
  point: TablePoint,
  upload: Uint8Array,
  merge: MergeInsert,
): Promise<MergeCounts> {
  const { file } = streamToFile(upload, context.decodedUploadBytes)
  const result = await changeTable(context, point, async (table) => toNativeMerge(table, merge).execute(file))
  return {
    version: result.version,
    inserted: result.numInsertedRows,
    updated: result.numUpdatedRows,
    deleted: result.numDeletedRows,
  }
}

function toNativeMerge(table: NativeTable, merge: MergeInsert): NativeMerge {
  let native = table.mergeInsert([...merge.on]).useIndex(merge.use_index)
  if (merge.when_matched_update_all) {
    native = native.whenMatchedUpdateAll(requireCondition(merge.when_matched_update_all_filt))
  }
  if (merge.when_not_matched_insert_all) native = native.whenNotMatchedInsertAll()
  if (merge.when_not_matched_by_source_delete) {
    native = native.whenNotMatchedBySourceDelete(
      requireCondition(merge.when_not_matched_by_source_delete_filt),
    )
  }
  if (merge.timeout !== undefined) native.setTimeout(Math.min(merge.timeout, maxTimeoutMs))
  return native
}

/** An empty condition is an error, because it does not say whether to select all rows or none. */
function requireCondition(sql: string | undefined): string | null {
  return sql === undefined ? null : parenthesizeExpression(sql)
}
