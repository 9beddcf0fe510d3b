import type { Logger } from 'pino'
import type { EmbeddedSettings } from '../../../config/backend/backend-settings.ts'
import type { Engine } from '../../engine/engine.ts'
import type { ManifestStore } from '../../engine/manifest/manifest-records.ts'
import type { OpenedStorage } from '../../storage/storage.ts'
import { findTableById } from '../../database/objects.ts'
import { openDatabase } from '../../database/open-database.ts'
import { hasPendingChanges } from '../../database/pending-deletions.ts'
import type { CatalogContext } from '../context/catalog-context.ts'
import { createReconcilingLock } from '../locks/reconciling-lock.ts'
import { openLock } from '../locks/lock.ts'
import { claimStorage } from './claim-storage.ts'
import { startRepairLoop, repair } from './repair.ts'
import { reconcileIfPending } from '../consistency/reconcile-versions.ts'

/**
 * Opens the catalog of a storage, creating it if necessary, and repairs the effects of a crash: half-created tables,
 * recorded versions without a manifest, data of dropped tables. Rejects with a plain error if the storage belongs to
 * another catalog.
 */
export async function openCatalogContext(
  settings: Pick<EmbeddedSettings, 'data' | 'store'>,
  opened: OpenedStorage,
  engine: Engine,
  manifestStore: ManifestStore,
  log: Logger,
): Promise<CatalogContext> {
  const { storage, root, getClientOptions } = opened
  const store = await openDatabase(settings.store, settings.data.folder, log)
  let stopRepairing: (() => Promise<void>) | undefined
  const context: CatalogContext = {
    database: store.database,
    engine,
    manifestStore,
    storage,
    getClientOptions,
    root,
    nameLock: openLock('name', store.locks),
    dataLock: createReconcilingLock(openLock('data', store.locks), (objectId) =>
      reconcileTableById(context, objectId),
    ),
    commitLock: openLock('commit', store.locks),
    log,
    close: async () => {
      await stopRepairing?.()
      await store.close()
    },
  }
  try {
    await claimStorage(store.database, opened, openLock('storage', store.locks))
    await repair(context)
  } catch (error) {
    await store.close()
    throw error
  }
  // With replicas, only another replica can clean up after one that crashes.
  if (store.locks !== undefined) stopRepairing = startRepairLoop(context)
  return context
}

async function reconcileTableById(context: CatalogContext, objectId: string): Promise<void> {
  if (!(await hasPendingChanges(context.database, objectId))) return
  const table = await findTableById(context.database, objectId)
  if (table !== undefined) await reconcileIfPending(context, table)
}
