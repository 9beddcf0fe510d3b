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
  const run = async <Result>(key: string, work: () => Promise<Result>): Promise<Result> => {
    const prepared = async () => {
      await prepare(key)
      return await work()
    }
    return await (advisoryLocks ? advisoryLocks.run(`${name} ${key}`, prepared) : prepared())
  }
  return {
    get waiting() {
      return local.waiting
    },
    runExclusive: (key, work) => local.runExclusive(key, () => run(key, work)),
    runShared: (key, work) => local.runShared(key, () => run(key, work)),
    runIfFree: (key, work) =>
      local.runIfFree(key, async () => {
        const prepared = async () => {
          await prepare(key)
          await work()
        }
        await (advisoryLocks ? advisoryLocks.runIfFree(`${name} ${key}`, prepared) : prepared())
      }),
  }
}
