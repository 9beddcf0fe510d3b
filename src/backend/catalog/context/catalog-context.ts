import type { Logger } from 'pino'
import type { Engine } from '../../engine/engine.ts'
import type { ManifestStore } from '../../engine/manifest/manifest-records.ts'
import type { GetClientOptions } from '../../storage/storage.ts'
import type { Storage } from '../../storage/storage.ts'
import type { TableEntry } from '../../store/objects.ts'
import type { CatalogDatabase } from '../../store/database-schema.ts'
import type { Lock } from '../locks/lock.ts'

/** What the operations of the catalog work with. */
export interface CatalogContext {
  readonly database: CatalogDatabase
  readonly engine: Engine
  readonly manifestStore: ManifestStore
  readonly storage: Storage
  readonly getClientOptions: GetClientOptions
  /** What the names of all that the catalog keeps in its storage begin with. */
  readonly root: string
  /** By path: who creates a table takes the lock of its name. No lock is taken within a transaction. */
  readonly nameLock: Lock
  /**
   * By object id: who creates, replaces or deletes the data of a table does it alone, appends share the lock. It is
   * taken after the lock of the name; several are taken in the order of the ids. Its holder finds storage as recorded.
   */
  readonly dataLock: Lock
  /** By object id: who publishes or settles versions of clients takes the lock, after that of the data. */
  readonly commitLock: Lock
  readonly log: Logger
  /** Lets go of the store, after the requests under way have ended. */
  readonly close: () => Promise<void>
}

/** The folder of the data of a table, named whole. */
export function tableLocation(catalog: CatalogContext, table: Pick<TableEntry, 'location'>): string {
  return `${catalog.root}/${table.location}`
}
