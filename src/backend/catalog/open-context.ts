import { getMembers } from 'catalog-gateway/lib'
import type { Logger } from 'pino'
import { findTableById } from '../database/objects.ts'
import { openDatabase } from '../database/open-database.ts'
import {
  readCatalogIdentity,
  recordStorageMarked,
  type CatalogDatabase,
  type OnQuery,
} from '../database/schema.ts'
import type { Engine } from '../engine/lancedb-engine.ts'
import type { ManifestStore } from '../engine/manifest/manifest-store.ts'
import type { BackendSettings } from '../settings/backend-settings.ts'
import type { OpenedStorage } from '../storage/storage.ts'
import { backfillColumn } from './columns.ts'
import type { CatalogContext } from './context.ts'
import { buildIndex } from './indexes.ts'
import { JobRunner } from './job-runner.ts'
import { type Lock, openLock } from './locks.ts'
import { reconcileIfPending } from './reconcile.ts'
import { startRepairLoop } from './repair.ts'

/** Contains a JSON object with `catalog`: the id of the catalog that owns the storage. */
export const markFileName = 'catalog.json'
const maxMarkBytes = 1024

/** Claims unmarked storage once, then verifies its mark: two catalogs would delete each other's manifests. */
async function claimStorage(
  database: CatalogDatabase,
  { storage, root }: Pick<OpenedStorage, 'storage' | 'root'>,
  lock: Lock,
): Promise<void> {
  await lock.runExclusive(markFileName, async () => {
    const { catalogId, isMarked } = await readCatalogIdentity(database)
    const file = `${root}/${markFileName}`
    if (!isMarked) await storage.create(file, Buffer.from(`${JSON.stringify({ catalog: catalogId })}\n`))
    const mark = await storage.read(file, maxMarkBytes)
    const owner = mark && parseOwner(mark.bytes.toString())
    if (owner !== catalogId) throw new Error(formatOwnershipError(root, catalogId, owner))
    if (!isMarked) await recordStorageMarked(database)
  })
}

function parseOwner(text: string): string | undefined {
  try {
    const { catalog } = getMembers(JSON.parse(text))
    return typeof catalog === 'string' ? catalog : undefined
  } catch {
    return undefined
  }
}

function formatOwnershipError(root: string, catalogId: string, owner: string | undefined): string {
  const expected = `expected its ${markFileName} to name ${catalogId}, the catalog of this store`
  return owner === undefined
    ? `the storage at ${root} has no owner mark of this catalog: ${expected}`
    : `the storage at ${root} belongs to the catalog ${owner}: ${expected}`
}

/** Opens or creates a catalog, and repairs it after a crash while it serves requests. Rejects if the storage belongs to another catalog. */
export async function openCatalogContext(
  settings: Pick<BackendSettings, 'data' | 'store'>,
  opened: OpenedStorage,
  engine: Engine,
  manifestStore: ManifestStore,
  log: Logger,
  onQuery?: OnQuery,
): Promise<CatalogContext> {
  const { storage, root } = opened
  const openedDatabase = await openDatabase(settings.store, settings.data.folder, log, onQuery)
  const jobLock = openLock('job', openedDatabase.locks)
  const context: CatalogContext = {
    database: openedDatabase.database,
    engine,
    manifestStore,
    storage,
    root,
    nameLock: openLock('name', openedDatabase.locks),
    locationLock: openLock('location', openedDatabase.locks),
    // Nothing is written between the commit of a batch and its manifests.
    dataLock: openLock('data', openedDatabase.locks, async (objectId) => {
      const table = await findTableById(context.database, objectId)
      if (table !== undefined) await reconcileIfPending(context, table)
    }),
    commitLock: openLock('commit', openedDatabase.locks),
    jobLock,
    jobs: new JobRunner(
      { database: openedDatabase.database, jobLock, log },
      {
        AlterTableBackfillColumns: (job) => backfillColumn(context, job),
        CreateTableIndex: (job) => buildIndex(context, job),
      },
    ),
    log,
    close: async () => {
      await context.jobs.close()
      await stopRepairing()
      await openedDatabase.close()
    },
  }
  try {
    await claimStorage(openedDatabase.database, opened, openLock('storage', openedDatabase.locks))
  } catch (error) {
    await openedDatabase.close()
    throw error
  }
  const stopRepairing = startRepairLoop(context)
  context.jobs.start()
  return context
}
