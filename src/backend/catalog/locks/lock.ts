import type { AdvisoryLocks } from '../../store/advisory-locks.ts'
import { KeyedLock } from './keyed-lock.ts'

/** Excludes work with the same key, within this process and across replicas. */
export interface Lock {
  /** Runs `work` while no other work with the same key runs. */
  runExclusive<Result>(key: string, work: () => Promise<Result>): Promise<Result>
  /** Runs `work` concurrently with other shared work, but not with exclusive work. */
  runShared<Result>(key: string, work: () => Promise<Result>): Promise<Result>
  /** Runs `work` exclusively if the lock is free; otherwise does nothing. */
  runIfFree(key: string, work: () => Promise<void>): Promise<void>
}

/** Opens the lock of that name, shared by all users of the same store; without advisory locks, by this process only. */
export function openLock(name: string, replicas: AdvisoryLocks | undefined): Lock {
  const here = new KeyedLock()
  if (replicas === undefined) return here
  return {
    runExclusive: (key, work) => here.runExclusive(key, () => replicas.run(`${name} ${key}`, 'alone', work)),
    runShared: (key, work) => here.runShared(key, () => replicas.run(`${name} ${key}`, 'shared', work)),
    runIfFree: (key, work) => here.runIfFree(key, () => replicas.runIfFree(`${name} ${key}`, work)),
  }
}
