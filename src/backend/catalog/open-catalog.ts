import { mkdir, realpath } from 'node:fs/promises'
import { join } from 'node:path'
import type { Logger } from 'pino'
import type { BackendSettings } from '../configuration.ts'
import type { Engine, ManifestStore } from '../engine/engine.ts'
import { findTableById } from '../store/objects.ts'
import { openStore } from '../store/open-store.ts'
import { isUnfinished } from '../store/unfinished.ts'
import type { CatalogParts } from './catalog-parts.ts'
import { settlingLock } from './data-lock.ts'
import { openLock } from './lock.ts'
import { keepRepairing, repair } from './repair.ts'
import { settleIfUnfinished } from './settle-versions.ts'

/**
 * Opens the catalog of a data folder, creates it where it is not there, and repairs what an end without notice
 * left: no half-created table, no recorded version without its manifest, no data of a dropped table.
 */
export async function openCatalog(
  settings: Pick<BackendSettings, 'data' | 'store'>,
  engine: Engine,
  manifests: ManifestStore,
  log: Logger,
): Promise<CatalogParts> {
  for (const name of ['tables', 'commits']) await mkdir(join(settings.data.folder, name), { recursive: true })
  const dataFolder = await realpath(settings.data.folder)
  const store = await openStore(settings.store, dataFolder, log)
  let stopRepairing: (() => Promise<void>) | undefined
  const catalog: CatalogParts = {
    database: store.database,
    engine,
    manifests,
    dataFolder,
    nameLock: openLock('name', store.locks),
    dataLock: settlingLock(openLock('data', store.locks), (objectId) => settleById(catalog, objectId)),
    commitLock: openLock('commit', store.locks),
    log,
    close: async () => {
      await stopRepairing?.()
      await store.close()
    },
  }
  try {
    await repair(catalog)
  } catch (error) {
    await store.close()
    throw error
  }
  // Nobody else clears away what another replica leaves that ends now.
  if (store.locks !== undefined) stopRepairing = keepRepairing(catalog)
  return catalog
}

async function settleById(catalog: CatalogParts, objectId: string): Promise<void> {
  if (!(await isUnfinished(catalog.database, objectId))) return
  const table = await findTableById(catalog.database, objectId)
  if (table !== undefined) await settleIfUnfinished(catalog, table)
}
