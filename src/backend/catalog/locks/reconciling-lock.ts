import type { Lock } from './lock.ts'

/** Reconciles before work under the data lock, so that nothing is written between a batch commit and its manifests. */
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
