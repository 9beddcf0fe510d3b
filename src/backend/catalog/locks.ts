import type { AdvisoryLocks } from '../database/advisory-locks.ts'
import { KeyedLock } from '../engine/keyed-lock.ts'

/** Excludes work with the same key, within this process and across replicas. */
export type Lock = Pick<KeyedLock, 'waiting' | 'runExclusive' | 'runShared' | 'runIfFree'>

/**
 * All users of the same database share the lock; without advisory locks, only this process has it. Shared work runs
 * concurrently within this process, and replicas take turns: the engine retries a write that has lost to another one after
 * pauses that double, so against a stream of writes of another replica it would lose each time. `prepare` runs before
 * the work, under the lock.
 */
export function openLock(
  name: string,
  advisoryLocks: AdvisoryLocks | undefined,
  prepare: (key: string) => Promise<void> = async () => {},
): Lock {
  const local = new KeyedLock()
  const shared: Pick<AdvisoryLocks, 'run' | 'runIfFree'> = advisoryLocks ?? {
    run: (_name, work) => work(),
    runIfFree: (_name, work) => work(),
  }
  const prepared =
    <Result>(key: string, work: () => Promise<Result>) =>
    async () => {
      await prepare(key)
      return await work()
    }
  return {
    get waiting() {
      return local.waiting
    },
    runExclusive: (key, work) =>
      local.runExclusive(key, () => shared.run(`${name} ${key}`, prepared(key, work))),
    runShared: (key, work) => local.runShared(key, () => shared.run(`${name} ${key}`, prepared(key, work))),
    runIfFree: (key, work) =>
      local.runIfFree(key, () => shared.runIfFree(`${name} ${key}`, prepared(key, work))),
  }
}
