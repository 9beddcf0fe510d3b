import { CatalogError, type Identifier, invalidInput, quoteForMessage } from 'catalog-gateway/catalog-api'
import { type RequestOf, type ResponseOf } from '../schemas/operation-schemas.ts'
import type { NewJob } from '../database/jobs.ts'
import { toPath } from '../database/objects.ts'
import type { TablePoint } from '../engine/native/open-table.ts'
import { type CatalogContext, tableLocation } from './context.ts'
import { requirePoint } from './find-table.ts'
import { requireTableOfJob, type JobRunner, type JobWork } from './job-runner.ts'
import { writeRows } from './table-locks.ts'

/**
 * Adds columns with the values of SQL expressions; or columns that are null until AlterTableBackfillColumns computes
 * their expressions. Virtual columns, and columns of both kinds in one request, are Unsupported (406).
 */
export async function addColumns(
  context: CatalogContext,
  id: Identifier,
  { branch, new_columns: added = [], function: applied }: Partial<RequestOf<'AlterTableAddColumns'>>,
): Promise<ResponseOf<'AlterTableAddColumns'>> {
  for (const { name, virtual_column: virtual } of added) rejectVirtualColumn(name, virtual)
  if (applied !== undefined) {
    throw new CatalogError(
      'Unsupported',
      'the new columns are computed by a function; this catalog runs no functions of callers, only SQL expressions',
    )
  }
  const evaluated = added.flatMap(({ name, expression }) =>
    expression === undefined ? [] : [{ name, expression }],
  )
  const computed = added.flatMap(({ name, computed: expression }) =>
    expression === undefined ? [] : [{ name, expression }],
  )
  for (const { name, expression, computed: later } of added) {
    if ((expression === undefined) !== (later === undefined)) continue
    throw invalidInput(
      `the new column ${quoteForMessage(name)} has ${expression === undefined ? 'neither' : 'both'} expression and computed; expected one of them`,
    )
  }
  if (evaluated.length > 0 && computed.length > 0) {
    throw new CatalogError(
      'Unsupported',
      'columns with expression and columns with computed cannot be added by one request; use two',
    )
  }
  const version = await changeColumns(context, id, branch, (point) =>
    computed.length > 0
      ? context.engine.columns.addComputed(point, computed)
      : context.engine.columns.add(point, evaluated),
  )
  return { version }
}

/**
 * Adds the columns of a complete Arrow IPC stream of a schema without rows. Their values are null. The branch is the
 * query parameter, if it was sent.
 */
export async function addNullColumns(
  context: CatalogContext,
  id: Identifier,
  branch: string | undefined,
  schema: Uint8Array,
): Promise<ResponseOf<'AlterTableAddColumns'>> {
  const version = await changeColumns(context, id, branch, (point) =>
    context.engine.columns.addNull(point, schema),
  )
  return { version }
}

/** Renames columns, and changes their types and nullability. Virtual columns are Unsupported. */
export async function alterColumns(
  context: CatalogContext,
  id: Identifier,
  { branch, alterations }: RequestOf<'AlterTableAlterColumns'>,
): Promise<ResponseOf<'AlterTableAlterColumns'>> {
  for (const { path, virtual_column: virtual } of alterations) rejectVirtualColumn(path, virtual)
  const version = await changeColumns(context, id, branch, (point) =>
    context.engine.columns.alter(point, alterations),
  )
  return { version }
}

/** Drops columns; older versions keep their values. */
export async function dropColumns(
  context: CatalogContext,
  id: Identifier,
  { branch, columns }: RequestOf<'AlterTableDropColumns'>,
): Promise<ResponseOf<'AlterTableDropColumns'>> {
  const version = await changeColumns(context, id, branch, (point) =>
    context.engine.columns.drop(point, columns),
  )
  return { version }
}

/** Changes the metadata of fields. Returns the resulting metadata of each. */
export async function updateFieldMetadata(
  context: CatalogContext,
  id: Identifier,
  { branch, updates }: RequestOf<'UpdateFieldMetadata'>,
): Promise<ResponseOf<'UpdateFieldMetadata'>> {
  return await changeColumns(context, id, branch, (point) =>
    context.engine.columns.updateMetadata(point, updates),
  )
}

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

function rejectVirtualColumn(column: string, virtual: unknown): void {
  if (virtual === undefined) return
  throw new CatalogError(
    'Unsupported',
    `the column ${quoteForMessage(column)} is a virtual_column; this catalog runs no functions of callers, only SQL expressions`,
  )
}

const operation = 'AlterTableBackfillColumns'

interface BackfillRequest {
  readonly column: string
  readonly where?: string | undefined
  readonly branch?: string | undefined
}

/**
 * Queues a job that computes a computed column in the rows that `where` selects, or in all rows. Members for the
 * distribution of the work are ignored. Throws TableNotFound, TableBranchNotFound and TableVersionNotFound (404),
 * InvalidInput (400) for a column that is missing or has no expression and for an invalid `where`, Unsupported (406) for
 * `read_version` unless it is the newest version.
 */
export async function backfillColumns(
  context: CatalogContext,
  jobs: JobRunner,
  id: Identifier,
  { branch, column, where, read_version: version }: RequestOf<typeof operation>,
): Promise<ResponseOf<typeof operation>> {
  const { table, point } = await requirePoint(context, id, { branch, version })
  const newest = await context.engine.columns.checkBackfill({ ...point, version: undefined }, column, where)
  if (version !== undefined && version !== newest) {
    throw new CatalogError(
      'Unsupported',
      `read_version is ${version}, but this catalog computes columns from the newest version, ${newest}`,
    )
  }
  const request = { column, where, branch: point.branch } satisfies BackfillRequest
  return { job_id: await jobs.submit({ operation, objectId: table.objectId, path: toPath(id), request }) }
}

/** One commit sets the column in all rows. */
export function createBackfillWork(context: CatalogContext): JobWork {
  return async (job, beforeChange) => {
    const { column, where, branch } = readRequest(job.request)
    const table = await requireTableOfJob(context.database, job)
    const point = { location: tableLocation(context, table), branch, version: undefined }
    return await writeRows(context, table.objectId, async () => {
      await beforeChange()
      const { rows, remaining, sourceVersion, version } = await context.engine.columns.backfill(
        point,
        column,
        where,
      )
      return {
        rows_assigned: rows,
        rows_failed: 0,
        rows_remaining: remaining,
        source_version: sourceVersion,
        published_version: version,
      }
    })
  }
}

function readRequest(request: NewJob['request']): BackfillRequest {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- written by backfillColumns
  return request as unknown as BackfillRequest
}
