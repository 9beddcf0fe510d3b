import { CatalogError, type Identifier, invalidInput, quoteForMessage } from 'catalog-gateway/catalog-api'
import type { Job, JobResult } from '../database/jobs.ts'
import type { RequestOf } from '../schemas/operation-schemas.ts'
import type { TableEntry } from '../database/objects.ts'
import type { TablePoint } from '../engine/native/open-table.ts'
import { type CatalogContext, tableLocation } from './context.ts'
import { requirePoint } from './find-table.ts'
import type { Operations } from './operations.ts'

export const columnOperations = {
  /**
   * Adds columns with the values of SQL expressions; columns that are null until AlterTableBackfillColumns computes their
   * expressions; or the columns of an uploaded schema, which are null. Virtual columns, and columns of both kinds in one
   * request, are Unsupported (406).
   */
  async AlterTableAddColumns(context, { id, request, upload }) {
    const { branch, new_columns: added = [], function: applied } = request
    const { columns } = context.engine
    if (upload !== undefined)
      return await changeColumns(context, id, branch, (point) => columns.addNull(point, upload))
    rejectFunctions([applied, ...added.map(({ virtual_column: virtual }) => virtual)])
    const named = added.map(({ name, expression, computed }) => {
      const sql = expression ?? computed
      if (sql === undefined || (expression !== undefined && computed !== undefined))
        throw invalidInput(
          `expected either expression or computed for the new column ${quoteForMessage(name)}`,
        )
      return { name, expression: sql }
    })
    const isComputed = added.some(({ computed }) => computed !== undefined)
    if (isComputed && added.some(({ expression }) => expression !== undefined)) {
      throw new CatalogError(
        'Unsupported',
        'columns with expression and columns with computed cannot be added by one request; use two',
      )
    }
    return await changeColumns(context, id, branch, (point) =>
      isComputed ? columns.addComputed(point, named) : columns.add(point, named),
    )
  },

  /** Renames columns, and changes their types and nullability. Virtual columns are Unsupported. */
  async AlterTableAlterColumns(context, { id, request: { branch, alterations } }) {
    rejectFunctions(alterations.map(({ virtual_column: virtual }) => virtual))
    return await changeColumns(context, id, branch, (point) =>
      context.engine.columns.alter(point, alterations),
    )
  },

  /** Drops columns; older versions keep their values. */
  async AlterTableDropColumns(context, { id, request: { branch, columns } }) {
    return await changeColumns(context, id, branch, (point) => context.engine.columns.drop(point, columns))
  },

  /** Changes the metadata of fields. Returns the resulting metadata of each. */
  async UpdateFieldMetadata(context, { id, request: { branch, updates } }) {
    return await changeColumns(context, id, branch, (point) =>
      context.engine.columns.updateMetadata(point, updates),
    )
  },

  /**
   * Queues a job that computes a computed column in the rows that `where` selects, or in all rows. Members for the
   * distribution of the work are ignored. Throws TableNotFound, TableBranchNotFound and TableVersionNotFound (404),
   * InvalidInput (400) for a column that is missing or has no expression and for an invalid `where`, Unsupported (406) for
   * `read_version` unless it is the newest version.
   */
  async AlterTableBackfillColumns(
    context,
    { id, request: { branch, column, where, read_version: version } },
  ) {
    const { table, point } = await requirePoint(context, id, { branch, version })
    const newest = await context.engine.columns.checkBackfill({ ...point, version: undefined }, column, where)
    if (version !== undefined && version !== newest) {
      throw new CatalogError(
        'Unsupported',
        `read_version is ${version}, but this catalog computes columns from the newest version, ${newest}`,
      )
    }
    const request = { column, where, branch: point.branch } satisfies BackfillRequest
    return {
      job_id: await context.jobs.submit({ operation, objectId: table.objectId, path: table.path, request }),
    }
  },
} satisfies Operations

/** Concurrent schema changes conflict, so they run one at a time. */
async function changeColumns<Result>(
  context: CatalogContext,
  id: Identifier,
  branch: string | undefined,
  change: (point: TablePoint) => Promise<Result>,
): Promise<Result> {
  const { table, point } = await requirePoint(context, id, { branch })
  return await context.dataLock.runExclusive(table.objectId, () => change(point))
}

/** Throws Unsupported (406) if a function or a virtual column was sent. */
function rejectFunctions(sent: readonly unknown[]): void {
  if (sent.every((one) => one === undefined)) return
  const message = 'this catalog runs no functions of callers for columns, only SQL expressions'
  throw new CatalogError('Unsupported', message)
}

const operation = 'AlterTableBackfillColumns'

type BackfillRequest = Pick<RequestOf<'AlterTableBackfillColumns'>, 'column' | 'where' | 'branch'>

/** One commit sets the column in all rows. */
export async function backfillColumn(
  context: CatalogContext,
  job: Job,
  table: TableEntry,
): Promise<JobResult> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- written by AlterTableBackfillColumns
  const { column, where, branch } = job.request as unknown as BackfillRequest
  const point = { location: tableLocation(context, table), branch, version: undefined }
  return await context.dataLock.runShared(table.objectId, async () => {
    const done = await context.engine.columns.backfill(point, column, where)
    return {
      rows_assigned: done.rowsUpdated,
      rows_failed: 0,
      // Rows that the condition does not select.
      rows_remaining: Math.max(0, done.totalRows - done.rowsUpdated),
      source_version: done.sourceVersion,
      published_version: done.version,
    }
  })
}
