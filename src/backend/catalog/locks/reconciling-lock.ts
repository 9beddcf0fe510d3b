import type { Lock } from './lock.ts'

/**
 * Wraps the data lock: calls `reconcile` before any work starts, so holders find storage equal to the records. Batches
 * commit under this lock, so nothing is written between a commit and its manifests.
 */
export function createReconcilingLock(lock: Lock, reconcile: (objectId: string) => Promise<void>): Lock {
  const reconcileFirst = async <Result>(objectId: string, work: () => Promise<Result>): Promise<Result> => {
    await reconcile(objectId)
    return await work()
  }
  return {
    runExclusive: (objectId, work) => lock.runExclusive(objectId, () => reconcileFirst(objectId, work)),
    runShared: (objectId, work) => lock.runShared(objectId, () => reconcileFirst(objectId, work)),
    runIfFree: (objectId, work) => lock.runIfFree(objectId, () => reconcileFirst(objectId, work)),
  }
}
