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
  /** The locks, in the order in which they are taken. README.md says what each is for, and its key. */
  readonly locationLock: Lock
  readonly jobLock: Lock
  /** Its holders, and those of the next one, find the storage reconciled with the records. */
  readonly dataLock: Lock
  readonly commitLock: Lock
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

export function branchNotFoundError(branch: string): CatalogError {
  return new CatalogError('TableBranchNotFound', `the table has no branch ${quoteForMessage(branch)}`)
}
