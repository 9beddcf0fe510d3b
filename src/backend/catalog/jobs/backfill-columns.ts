import { CatalogError, type Identifier, type RequestOf, type ResponseOf } from 'catalog-gateway/catalog-api'
import { toPath } from '../../database/objects.ts'
import type { NewJob } from '../../database/jobs.ts'
import { tableLocation, type CatalogContext } from '../context/catalog-context.ts'
import { requirePoint } from '../consistency/table-point.ts'
import { writeRows } from '../consistency/write-rows.ts'
import { requireTableOfJob, type JobRunner, type JobWork } from './job-runner.ts'

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
