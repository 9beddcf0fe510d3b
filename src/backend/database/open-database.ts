import { join } from 'node:path'
import type { Logger } from 'pino'
import type { BackendSettings } from '../settings/backend-settings.ts'
import type { AdvisoryLocks } from './advisory-locks.ts'
import { openPostgres } from './postgres.ts'
import { followPostgresUrl } from './postgres-url.ts'
import { openSqlite } from './sqlite.ts'
import type { CatalogDatabase } from './database-schema.ts'
import { type FollowSetting, makeFolder } from 'catalog-gateway/lib'

export interface OpenedDatabase {
  readonly database: CatalogDatabase
  /** Undefined if this process uses the database alone. */
  readonly locks: AdvisoryLocks | undefined
  readonly close: () => Promise<void>
}

/**
 * PostgreSQL, or a SQLite file in its own folder or the data folder. Follows the file of the URL with `follow`. Rejects
 * with a plain error.
 */
export async function openDatabase(
  { folder, postgres }: BackendSettings['store'],
  dataFolder: string | undefined,
  log: Logger,
  follow: FollowSetting,
): Promise<OpenedDatabase> {
  if (postgres === undefined) {
    const location = folder ?? dataFolder
    if (location === undefined) throw new Error('no folder configured for the store')
    await makeFolder(location)
    const database = await openSqlite(join(location, 'catalog.sqlite'))
    return { database, locks: undefined, close: () => database.destroy() }
  }
  const url = await followPostgresUrl(postgres, follow)
  const { database, locks } = await openPostgres({ ...postgres, url }, log)
  return {
    database,
    locks,
    close: async () => {
      await database.destroy()
      await locks.close()
    },
  }
}
