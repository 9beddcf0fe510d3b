import type { AdvisoryLocks } from '../../store/advisory-locks.ts'
import { KeyedLock } from './keyed-lock.ts'

/** Keeps apart, for each key, work that must run alone from all other work, in this process and in other replicas. */
export interface Lock {
  /** Runs `work` when no other work under the same key runs. */
  runExclusive<Result>(key: string, work: () => Promise<Result>): Promise<Result>
  /** Runs `work` together with other shared work, but with none that must run alone. */
  runShared<Result>(key: string, work: () => Promise<Result>): Promise<Result>
  /** Runs `work` alone if that needs no waiting. */
  runIfFree(key: string, work: () => Promise<void>): Promise<void>
}

/** A lock of that name among those who use the same store; without locks of the store, of this process alone. */
export function openLock(name: string, replicas: AdvisoryLocks | undefined): Lock {
  const here = new KeyedLock()
  if (replicas === undefined) return here
  return {
    runExclusive: (key, work) => here.runExclusive(key, () => replicas.run(`${name} ${key}`, 'alone', work)),
    runShared: (key, work) => here.runShared(key, () => replicas.run(`${name} ${key}`, 'shared', work)),
    runIfFree: (key, work) => here.runIfFree(key, () => replicas.runIfFree(`${name} ${key}`, work)),
  }
}
