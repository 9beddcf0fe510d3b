import type { Lock } from './lock.ts'

/**
 * The lock of the data, whose holder finds in storage all that is on record: `settle` sees to it before any work
 * begins. A batch commits under this lock, so nobody writes between what was committed and its manifests.
 */
export function settlingLock(lock: Lock, settle: (objectId: string) => Promise<void>): Lock {
  const settled = async <Result>(objectId: string, work: () => Promise<Result>): Promise<Result> => {
    await settle(objectId)
    return await work()
  }
  return {
    run: (objectId, work) => lock.run(objectId, () => settled(objectId, work)),
    share: (objectId, work) => lock.share(objectId, () => settled(objectId, work)),
    runIfFree: (objectId, work) => lock.runIfFree(objectId, () => settled(objectId, work)),
  }
}
