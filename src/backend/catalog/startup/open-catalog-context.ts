import type { Logger } from 'pino'
import type { FollowSetting } from 'catalog-gateway/lib'
import type { BackendSettings } from '../../settings/backend-settings.ts'
import type { Engine } from '../../engine/engine.ts'
import type { ManifestStore } from '../../engine/manifest/manifest-records.ts'
import type { OpenedStorage } from '../../storage/storage.ts'
import { findTableById } from '../../database/objects.ts'
import { openDatabase } from '../../database/open-database.ts'
import { hasPendingChanges } from '../../database/pending-deletions.ts'
import type { CatalogContext } from '../context/catalog-context.ts'
import { openLock, openTurns, type Lock } from '../locks/lock.ts'
import { claimStorage } from './claim-storage.ts'
import { startRepairLoop } from './repair.ts'
import { reconcileIfPending } from '../consistency/reconcile-versions.ts'

/** Opens or creates a catalog, and repairs it after a crash while it serves requests. Rejects if the storage belongs to another catalog. */
export async function openCatalogContext(
  settings: Pick<BackendSettings, 'data' | 'store'>,
  opened: OpenedStorage,
  engine: Engine,
  manifestStore: ManifestStore,
  log: Logger,
  follow: FollowSetting,
): Promise<CatalogContext> {
  const { storage, root, getClientOptions } = opened
  const openedDatabase = await openDatabase(settings.store, settings.data.folder, log, follow)
  const context: CatalogContext = {
    database: openedDatabase.database,
    engine,
    manifestStore,
    storage,
    getClientOptions,
    root,
    nameLock: openLock('name', openedDatabase.locks),
    locationLock: openLock('location', openedDatabase.locks),
    dataLock: createReconcilingLock(openLock('data', openedDatabase.locks), (objectId) =>
      reconcileTableById(context, objectId),
    ),
    writeTurns: openTurns('write', openedDatabase.locks),
    commitLock: openLock('commit', openedDatabase.locks),
    jobLock: openLock('job', openedDatabase.locks),
    log,
    close: async () => {
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
  return context
}

async function reconcileTableById(context: CatalogContext, objectId: string): Promise<void> {
  if (!(await hasPendingChanges(context.database, objectId))) return
  const table = await findTableById(context.database, objectId)
  if (table !== undefined) await reconcileIfPending(context, table)
}

/** Reconciles before work under the data lock, so that nothing is written between a batch commit and its manifests. */
function createReconcilingLock(lock: Lock, reconcile: (objectId: string) => Promise<void>): Lock {
  const reconcileFirst = async <Result>(objectId: string, work: () => Promise<Result>): Promise<Result> => {
    await reconcile(objectId)
    return await work()
  }
  return {
    runExclusive: (objectId, work) => lock.runExclusive(objectId, () => reconcileFirst(objectId, work)),
    runShared: (objectId, work) => lock.runShared(objectId, () => reconcileFirst(objectId, work)),
    runIfFree: (objectId, work) => lock.runIfFree(objectId, () => reconcileFirst(objectId, work)),
  }
}
