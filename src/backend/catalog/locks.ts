import type { AdvisoryLocks } from '../database/advisory-locks.ts'
import { KeyedLock } from '../engine/keyed-lock.ts'

/** Excludes work with the same key, within this process and across replicas. */
export interface Lock {
  /** How much work waits in this process, with all keys. */
  readonly waiting: number
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
    get waiting() {
      return local.waiting
    },
    runExclusive: (key, work) =>
      local.runExclusive(key, () => advisoryLocks.run(`${name} ${key}`, 'exclusive', work)),
    runShared: (key, work) => local.runShared(key, () => advisoryLocks.run(`${name} ${key}`, 'shared', work)),
    runIfFree: (key, work) => local.runIfFree(key, () => advisoryLocks.runIfFree(`${name} ${key}`, work)),
  }
}
