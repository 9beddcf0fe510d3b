import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Logger } from 'pino'
import type { BackendSettings } from '../../config/backend/backend-settings.ts'
import type { AdvisoryLocks } from './advisory-locks.ts'
import { openPostgres } from './postgres.ts'
import { openSqlite } from './sqlite.ts'
import type { CatalogDatabase } from './database-schema.ts'
import { makeFolder } from '../../lib/fs/make-folder.ts'

export interface OpenedDatabase {
  readonly database: CatalogDatabase
  /** Undefined if this process uses the database alone. */
  readonly locks: AdvisoryLocks | undefined
  readonly close: () => Promise<void>
}

/** PostgreSQL, or a SQLite file in its own folder or the data folder. Rejects with a plain error. */
export async function openDatabase(
  { folder, postgres }: BackendSettings['store'],
  dataFolder: string | undefined,
  log: Logger,
): Promise<OpenedDatabase> {
  if (postgres === undefined) {
    const location = folder ?? dataFolder
    if (location === undefined) throw new Error('no folder configured for the store')
    await makeFolder(location)
    const database = await openSqlite(join(location, 'catalog.sqlite'))
    return { database, locks: undefined, close: () => database.destroy() }
  }
  const url =
    postgres.urlFile === undefined ? postgres.url : (await readFile(postgres.urlFile, 'utf8')).trim()
  const { database, locks } = await openPostgres({ ...postgres, url: url ?? '' }, log)
  return {
    database,
    locks,
    close: async () => {
      await database.destroy()
      await locks.close()
    },
  }
}
