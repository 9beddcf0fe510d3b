import { CatalogError } from 'catalog-gateway/catalog-api'
import { ClosingStack } from 'catalog-gateway/lib'
import type { Outbound } from 'catalog-gateway/outbound'
import { sql } from 'kysely'
import type { Logger } from 'pino'
import { openDatabase } from '../database/open-database.ts'
import { readCatalogIdentity, recordStorageMarked, type CatalogDatabase } from '../database/schema.ts'
import { openEngine } from '../engine/lancedb-engine.ts'
import { createStepMetrics } from '../metrics.ts'
import type { BackendSettings } from '../settings/backend-settings.ts'
import { openStorage } from '../storage/open-storage.ts'
import type { Storage } from '../storage/storage.ts'
import { backfillColumn } from './columns.ts'
import type { CatalogContext } from './context.ts'
import { buildIndex } from './indexes.ts'
import { startJobRunner } from './job-runner.ts'
import { type Lock, openLock } from './locks.ts'
import { reconcileIfPending, reconcileVersions } from './reconcile.ts'
import { repair } from './repair.ts'
import { startLoop } from './start-loop.ts'

/** Contains a JSON object with `catalog`: the id of the catalog that owns the storage. */
const markFileName = 'catalog.json'
const maxMarkBytes = 1024
const repairIntervalMs = 15_000

/** Claims unmarked storage once, then verifies its mark: two catalogs would delete each other's manifests. */
async function claimStorage(
  database: CatalogDatabase,
  storage: Storage,
  root: string,
  lock: Lock,
): Promise<void> {
  await lock.runExclusive(markFileName, async () => {
    const { catalogId, isMarked } = await readCatalogIdentity(database)
    const file = `${root}/${markFileName}`
    const mark = `${JSON.stringify({ catalog: catalogId })}\n`
    if (!isMarked) await storage.create(file, Buffer.from(mark))
    const found = (await storage.read(file, maxMarkBytes))?.bytes.toString()
    if (found !== mark)
      throw new Error(
        `the storage at ${root} does not belong to the catalog of this store: ` +
          `expected ${markFileName} with ${mark.trim()}, found ${found?.trim() ?? 'no such file'}`,
      )
    if (!isMarked) await recordStorageMarked(database)
  })
}

/**
 * Opens or creates a catalog, and repairs it after a crash while it serves requests. Rejects if the storage or the database
 * cannot be used, or if the storage belongs to another catalog.
 */
export async function openCatalog(
  settings: BackendSettings,
  log: Logger,
  outbound: Outbound,
  openFiles = openStorage,
): Promise<CatalogContext> {
  const opened = new ClosingStack()
  try {
    const { registry, observeQuery, observeStorage } = createStepMetrics()
    const { root, close, ...files } = await openFiles(settings.data, outbound)
    opened.push(close)
    const storage = observeStorage(files.storage)
    const engine = openEngine(storage, 8 * settings.limits.maxUploadBytes)
    opened.push(() => engine.close())
    const {
      database,
      transact,
      locks,
      close: closeDatabase,
    } = await openDatabase(settings, log, observeQuery)
    opened.push(closeDatabase)
    await claimStorage(database, storage, root, openLock('storage', locks))
    const jobLock = openLock('job', locks)
    const context: CatalogContext = {
      database,
      transact,
      engine,
      storage,
      root,
      locationLock: openLock('location', locks),
      // Nothing is written between the commit of a batch and its manifests.
      dataLock: openLock('data', locks, (objectId) => reconcileIfPending(context, objectId)),
      commitLock: openLock('commit', locks, (objectId) => reconcileVersions(context, objectId)),
      jobLock,
      jobs: startJobRunner(database, jobLock, log, {
        AlterTableBackfillColumns: (job, table) => backfillColumn(context, job, table),
        CreateTableIndex: (job, table) => buildIndex(context, job, table),
      }),
      log,
      registry,
      close: () => opened.close(),
    }
    // Also after other replicas.
    opened.push(startLoop(log, 'repair', repairIntervalMs, (stopped) => repair(context, stopped)).stop)
    opened.push(() => context.jobs.close())
    return context
  } catch (error) {
    await opened.close()
    throw error
  }
}

/** Rejects if requests cannot be served now. */
export async function checkReady({ database, storage, root }: CatalogContext): Promise<void> {
  await sql`select 1`.execute(database)
  if ((await storage.stat(`${root}/${markFileName}`)) === undefined)
    throw new CatalogError('ServiceUnavailable', 'the storage of the tables is not there')
}
