import type { Logger } from 'pino'
import type { Engine } from '../../engine/engine.ts'
import type { ManifestStore } from '../../engine/manifest/manifest-records.ts'
import type { GetClientOptions } from '../../storage/storage.ts'
import type { Storage } from '../../storage/storage.ts'
import type { TableEntry } from '../../database/objects.ts'
import type { CatalogDatabase } from '../../database/database-schema.ts'
import type { Lock, Turns } from '../locks/lock.ts'

export interface CatalogContext {
  readonly database: CatalogDatabase
  readonly engine: Engine
  readonly manifestStore: ManifestStore
  readonly storage: Storage
  readonly getClientOptions: GetClientOptions
  /** The prefix of every name that the catalog uses in its storage. */
  readonly root: string
  /** Keyed by path; held while a table is created. No lock is taken inside a transaction. */
  readonly nameLock: Lock
  /** Keyed by location; held while a dataset is registered or deleted. Taken before the data lock. */
  readonly locationLock: Lock
  /**
   * Keyed by object id. Exclusive for creating, replacing or deleting the data of a table, shared for appends. Taken
   * after the name lock; several are taken in the order of the ids. Holders find storage reconciled with the records.
   */
  readonly dataLock: Lock
  /**
   * Keyed by object id; taken by writes of rows under the data lock. The engine retries a write that has lost to
   * another one after pauses that double, so against a stream of writes of another replica it would lose each time.
   */
  readonly writeTurns: Turns
  /** Keyed by object id; held while versions of clients are published or reconciled. Taken after the data lock. */
  readonly commitLock: Lock
  /**
   * Keyed by object id; held while a job of the table runs, which may commit a version without the data lock (an index).
   * Taken before the data lock by what cannot bear such a version.
   */
  readonly jobLock: Lock
  readonly log: Logger
  /** Closes the database after the active requests have ended. */
  readonly close: () => Promise<void>
}

export function tableLocation(context: CatalogContext, table: Pick<TableEntry, 'location'>): string {
  return `${context.root}/${table.location}`
}
