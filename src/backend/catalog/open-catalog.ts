import { mkdir, realpath } from 'node:fs/promises'
import { join } from 'node:path'
import type { Logger } from 'pino'
import type { Engine, ManifestStore } from '../engine/engine.ts'
import { openDatabase } from '../store/database.ts'
import { findObject, identifierOf } from '../store/objects.ts'
import { forgetLeftover, listLeftovers, removeUnfinishedTables } from '../store/removal.ts'
import { listUnsettledTables } from '../store/versions.ts'
import { locationOf, type Catalog } from './catalog.ts'
import { KeyedLock } from './keyed-lock.ts'
import { settleVersions } from './settle-versions.ts'

/**
 * Opens the catalog of a data folder, creates it where it is not there, and repairs what an end without notice
 * left: no half-created table, no recorded version without its manifest, no data of a dropped table.
 */
export async function openCatalog(
  folder: string,
  engine: Engine,
  manifests: ManifestStore,
  log: Logger,
): Promise<Catalog> {
  await mkdir(join(folder, 'tables'), { recursive: true })
  const dataFolder = await realpath(folder)
  const database = await openDatabase(join(dataFolder, 'catalog.sqlite'))
  const catalog: Catalog = {
    database,
    engine,
    manifests,
    dataFolder,
    nameLock: new KeyedLock(),
    dataLock: new KeyedLock(),
    commitLock: new KeyedLock(),
    log,
  }
  try {
    await repair(catalog)
  } catch (error) {
    await database.destroy()
    throw error
  }
  return catalog
}

async function repair(catalog: Catalog): Promise<void> {
  const { database } = catalog
  await database.transaction().execute(removeUnfinishedTables)
  for (const location of await listLeftovers(database)) {
    await catalog.engine.drop(locationOf(catalog, { location }))
    await forgetLeftover(database, location)
  }
  for (const path of await listUnsettledTables(database)) {
    const table = await findObject(database, identifierOf(path))
    if (table?.kind === 'table') await settleVersions(catalog, table)
  }
}
