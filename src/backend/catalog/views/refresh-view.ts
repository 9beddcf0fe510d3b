import {
  CatalogError,
  type Identifier,
  invalidInput,
  type OperationName,
  type RequestOf,
  type ResponseOf,
} from 'catalog-gateway/catalog-api'
import type { NewJob } from '../../database/jobs.ts'
import { findView, type MaterializedView } from '../../database/materialized-views.ts'
import type { MemoryBudget } from '../../engine/memory-budget.ts'
import { findTableById, fromPath, toPath, type TableEntry } from '../../database/objects.ts'
import { tableLocation, type CatalogContext } from '../context/catalog-context.ts'
import { resolvePoint } from '../consistency/table-point.ts'
import { requireTableOfJob, type JobRunner, type JobWork } from '../jobs/job-runner.ts'
import { requireView } from './require-view.ts'
import { selectRows } from './select-rows.ts'

/**
 * Queues a job that replaces the rows of a view by the result of its query, over the newest version of its source or the
 * requested one. Members for the distribution of the work and `full` are ignored. Throws TableNotFound and
 * TableVersionNotFound (404), ConcurrentModification (409) for another incarnation, InvalidInput (400).
 */
export async function refreshMaterializedView(
  context: CatalogContext,
  jobs: JobRunner,
  id: Identifier,
  request: RequestOf<'RefreshMaterializedView'>,
): Promise<ResponseOf<'RefreshMaterializedView'>> {
  const { table, view } = await requireView(context.database, id)
  if (request.output_limit !== undefined)
    throw invalidInput('output_limit requires a view of the kind chunker')
  if (request.expected_incarnation !== undefined && request.expected_incarnation !== table.objectId) {
    throw new CatalogError('ConcurrentModification', 'the view was replaced: it has another incarnation')
  }
  const version = request.source_version ?? request.src_version
  if (request.src_version !== undefined && request.src_version !== version) {
    throw invalidInput('src_version and source_version differ; expected one of them')
  }
  const source = await requireSource(context, view)
  await resolvePoint(context, fromPath(source.path), source, { version })
  const job = createRefreshJob('RefreshMaterializedView', id, table.objectId, version)
  return { job_id: await jobs.submit(job) }
}

/** Describes a refresh under the name of the operation that starts it. */
export function createRefreshJob(
  operation: OperationName,
  id: Identifier,
  objectId: string,
  version: number | undefined,
): NewJob {
  return { operation, objectId, path: toPath(id), request: { source_version: version } }
}

/** One commit replaces the rows, which are in memory until then: at most `maxBytes`, within the budget. */
export function createRefreshWork(context: CatalogContext, memory: MemoryBudget, maxBytes: number): JobWork {
  return async (job, beforeChange) => {
    const table = await requireTableOfJob(context.database, job)
    const view = await findView(context.database, table.objectId)
    if (view === undefined) throw new CatalogError('TableNotFound', 'the table is no view')
    const location = tableLocation(context, await requireSource(context, view))
    const sourceVersion = readVersion(job.request) ?? (await context.engine.describe(location)).version
    const { rows, version } = await memory.run(async (reserve) => {
      const stream = await selectRows(context, location, sourceVersion, view.selection, maxBytes, reserve)
      return await context.dataLock.runExclusive(table.objectId, async () => {
        await beforeChange()
        return await context.engine.insert(tableLocation(context, table), stream, 'overwrite')
      })
    })
    return { mode: 'rebuild', rows_written: rows, source_version: sourceVersion, version }
  }
}

async function requireSource(context: CatalogContext, view: MaterializedView): Promise<TableEntry> {
  const source = await findTableById(context.database, view.sourceObjectId)
  if (source !== undefined) return source
  throw new CatalogError('TableNotFound', 'the table that the view reads was dropped')
}

function readVersion({ source_version: version }: Readonly<Record<string, unknown>>): number | undefined {
  return typeof version === 'number' ? version : undefined
}
