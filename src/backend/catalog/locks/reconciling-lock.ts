import type { Lock } from './lock.ts'

/**
 * The lock of the data, whose holder finds in storage all that is on record: `settle` sees to it before any work
 * begins. A batch commits under this lock, so nobody writes between what was committed and its manifests.
 */
export function createReconcilingLock(lock: Lock, reconcile: (objectId: string) => Promise<void>): Lock {
  const resolved = async <Result>(objectId: string, work: () => Promise<Result>): Promise<Result> => {
    await reconcile(objectId)
    return await work()
  }
  return {
    runExclusive: (objectId, work) => lock.runExclusive(objectId, () => resolved(objectId, work)),
    runShared: (objectId, work) => lock.runShared(objectId, () => resolved(objectId, work)),
    runIfFree: (objectId, work) => lock.runIfFree(objectId, () => resolved(objectId, work)),
  }
}
