import { CatalogError, quoteForMessage } from 'catalog-gateway/catalog-api'
import type { Logger } from 'pino'
import type { AdvisoryLocks } from '../database/advisory-locks.ts'
import type { TableEntry } from '../database/objects.ts'
import type { CatalogDatabase } from '../database/schema.ts'
import { KeyedLock } from '../engine/keyed-lock.ts'
import type { Engine } from '../engine/lancedb-engine.ts'
import type { ManifestStore } from '../engine/manifest/manifest-store.ts'
import type { GetClientOptions, Storage } from '../storage/storage.ts'

/** Excludes work with the same key, within this process and across replicas. */
export interface Lock {
  runExclusive<Result>(key: string, work: () => Promise<Result>): Promise<Result>
  /** Runs `work` concurrently with other shared work, but not with exclusive work. */
  runShared<Result>(key: string, work: () => Promise<Result>): Promise<Result>
  /** Runs `work` exclusively if the lock is free; otherwise does nothing. */
  runIfFree(key: string, work: () => Promise<void>): Promise<void>
}

/** Runs work with the same key concurrently in this process, but not with that of other replicas. */
export type Turns = <Result>(key: string, work: () => Promise<Result>) => Promise<Result>

/** Replicas take turns, so a stream of work in one of them does not starve the others. */
export function openTurns(name: string, advisoryLocks: AdvisoryLocks | undefined): Turns {
  if (advisoryLocks === undefined) return async (_key, work) => await work()
  return async (key, work) => await advisoryLocks.run(`${name} ${key}`, 'exclusive', work)
}

/** All users of the same database share the lock; without advisory locks, only this process has it. */
export function openLock(name: string, advisoryLocks: AdvisoryLocks | undefined): Lock {
  const local = new KeyedLock()
  if (advisoryLocks === undefined) return local
  return {
    runExclusive: (key, work) =>
      local.runExclusive(key, () => advisoryLocks.run(`${name} ${key}`, 'exclusive', work)),
    runShared: (key, work) => local.runShared(key, () => advisoryLocks.run(`${name} ${key}`, 'shared', work)),
    runIfFree: (key, work) => local.runIfFree(key, () => advisoryLocks.runIfFree(`${name} ${key}`, work)),
  }
}

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

/** The branch of requests that name none. */
export const mainBranch = 'main'

/** Maps an absent or empty branch to `main`. */
export function normalizeBranch(branch: string | null | undefined): string {
  return branch || mainBranch
}

export function branchNotFoundError(branch: string): CatalogError {
  return new CatalogError('TableBranchNotFound', `the table has no branch ${quoteForMessage(branch)}`)
}
