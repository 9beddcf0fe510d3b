import { CatalogError, quoteForMessage } from 'catalog-gateway/catalog-api'
import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import type { TableEntry } from '../database/objects.ts'
import type { CatalogDatabase, Transact } from '../database/schema.ts'
import type { Engine } from '../engine/lancedb-engine.ts'
import type { JobRunner } from './job-runner.ts'
import type { Lock } from './locks.ts'
import type { Storage } from '../storage/storage.ts'

export interface CatalogContext {
  readonly database: CatalogDatabase
  readonly transact: Transact
  readonly engine: Engine
  readonly storage: Storage
  /** The prefix of every name that the catalog uses in its storage. */
  readonly root: string
  /**
   * Keyed by location; held while a dataset is registered or deleted. Taken before the data lock. No lock is taken inside a
   * transaction.
   */
  readonly locationLock: Lock
  /**
   * Keyed by object id. Exclusive for creating, replacing or deleting the data of a table, shared for writes of rows. Taken
   * after the job lock; several are taken in the order of the ids. Holders find storage reconciled with the records.
   */
  readonly dataLock: Lock
  /**
   * Keyed by object id; held while versions of clients are published or reconciled. Taken after the data lock. Holders find
   * storage reconciled with the records.
   */
  readonly commitLock: Lock
  /**
   * Keyed by object id; held while a job of the table runs, which may commit a version without the data lock (an index).
   * Taken before the data lock by what cannot bear such a version.
   */
  readonly jobLock: Lock
  readonly jobs: JobRunner
  readonly log: Logger
  /** The metrics of the database and the storage. */
  readonly registry: Registry
  /** Closes the database after the active requests have ended. */
  readonly close: () => Promise<void>
}

export function tableLocation(context: CatalogContext, table: Pick<TableEntry, 'location'>): string {
  return `${context.root}/${table.location}`
}

/** The branch of requests that name none. */
export const mainBranch = 'main'

/** Maps an absent or empty branch to `main`. */
export function normalizeBranch(branch: string | null | undefined): string {
  return branch || mainBranch
}

export function branchNotFoundError(branch: string): CatalogError {
  return new CatalogError('TableBranchNotFound', `the table has no branch ${quoteForMessage(branch)}`)
}
