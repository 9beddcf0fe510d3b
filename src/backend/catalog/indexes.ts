import { assertName, CatalogError, quoteForMessage } from 'catalog-gateway/catalog-api'
import { defaultIndexName, type IndexRequest } from '../schemas/indexes.ts'
import type { ResponseOf } from '../schemas/operation-schemas.ts'
import { listUnfinishedJobs, type Job, type JobResult } from '../database/jobs.ts'
import type { TableEntry } from '../database/objects.ts'
import type { IndexConfig } from '@lancedb/lancedb'
import { tableLocation, type CatalogContext } from './context.ts'
import { requirePoint } from './find-table.ts'
import { pageByName } from './pages.ts'
import { reconcileIfPending } from './reconcile.ts'
import type { CatalogCall, Operations } from './operations.ts'

const operation = 'CreateTableIndex'
/** Clients that need the index at once get a small one so; the others ask for the indexes of the table. */
const responseTimeoutMs = 20_000

export const indexOperations = {
  CreateTableIndex: createTableIndex,
  CreateTableScalarIndex: createTableIndex,

  /** Lists the indexes of a table at a point, in the order of their names. The token is the last name. */
  async ListTableIndices(context, { id, request }) {
    const { point } = await requirePoint(context, id, request)
    const all = await context.engine.indexes.list(point)
    const { entries, token } = pageByName(all, ({ name }) => name, request)
    return { indexes: entries.map(toContent), ...token }
  },

  /** Returns how much of a table an index covers at a point. Throws TableIndexNotFound (404). */
  async DescribeTableIndexStats(context, { id, indexName: name, request }) {
    const { point } = await requirePoint(context, id, request)
    const found = await context.engine.indexes.describe(point, name)
    if (found === undefined) throw indexNotFoundError(name)
    return {
      index_type: found.indexType,
      distance_type: found.distanceType,
      num_indexed_rows: found.numIndexedRows,
      num_unindexed_rows: found.numUnindexedRows,
      num_indices: found.numIndices,
    }
  },

  /** Drops an index; older versions of the table keep it. Throws TableIndexNotFound (404). */
  async DropTableIndex(context, { id, indexName: name, request }) {
    const { table, point } = await requirePoint(context, id, { branch: request.branch })
    await context.dataLock.runShared(table.objectId, () => context.engine.indexes.drop(point, name))
    return {}
  },

  /** Loads an index of the main branch into the cache of the engine. Throws TableIndexNotFound (404). */
  async PrewarmTableIndex(context, { id, indexName: name }) {
    const { point } = await requirePoint(context, id, {})
    if ((await context.engine.indexes.describe(point, name)) === undefined) throw indexNotFoundError(name)
    await context.engine.indexes.prewarm(point, name)
    return {}
  },

  /** Does nothing to the table: the engine caches no rows. Throws TableNotFound (404). */
  async PrewarmTableData(context, { id }) {
    await requirePoint(context, id, {})
    return {}
  },
} satisfies Operations

/**
 * Creates an index, or replaces one with the same name, column and type, as LanceDB's server does: its clients repeat a
 * request that got 409. A job builds it, without a lock that writers need; it is in the response if it has not ended
 * soon. A request that repeats another one waits for its job. Throws Unsupported (406), TableIndexAlreadyExists (409),
 * ServiceUnavailable (503).
 */
async function createTableIndex(
  context: CatalogContext,
  { id, request }: Pick<CatalogCall<'CreateTableIndex'>, 'id' | 'request'>,
): Promise<ResponseOf<'CreateTableIndex'>> {
  assertName(request.name ?? defaultIndexName(request.column), 'the name of the index')
  const { table, point } = await requirePoint(context, id, { branch: request.branch })
  const { objectId, path } = table
  const job = { operation, objectId, path, request: { ...request, branch: point.branch } }
  const same = (await listUnfinishedJobs(context.database, objectId)).find(
    (other) => other.operation === operation && other.request === JSON.stringify(job.request),
  )
  const jobId = same?.jobId ?? (await context.jobs.submit(job))
  const ended = await context.jobs.waitForEnd(jobId, responseTimeoutMs)
  if (ended?.failure !== undefined) throw new CatalogError(ended.failure.kind, ended.failure.message)
  return ended?.state === 'finished' ? {} : { job_id: jobId }
}

/** The version of the index follows whatever was committed meanwhile. */
export async function buildIndex(context: CatalogContext, job: Job, table: TableEntry): Promise<JobResult> {
  await reconcileIfPending(context, table.objectId)
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- written by CreateTableIndex
  const request = job.request as unknown as IndexRequest
  const point = { location: tableLocation(context, table), branch: request.branch }
  await context.engine.indexes.create(point, request)
  return {}
}

function indexNotFoundError(name: string): CatalogError {
  return new CatalogError('TableIndexNotFound', `the table has no index ${quoteForMessage(name)}`)
}

/** A listed index is always built, so the status never shows a build in progress. */
function toContent(index: IndexConfig) {
  return {
    index_name: index.name,
    index_uuid: index.indexUuid ?? '',
    columns: index.columns,
    status: 'SUCCEEDED',
    index_type: index.indexType,
    type_url: index.typeUrl,
    num_indexed_rows: index.numIndexedRows,
    num_unindexed_rows: index.numUnindexedRows,
    size_bytes: index.sizeBytes,
    num_segments: index.numSegments,
    created_at: index.createdAt?.toISOString(),
    index_version: index.indexVersion,
    index_details: index.indexDetails === undefined ? undefined : JSON.stringify(index.indexDetails),
  }
}
