/**
 * What callers may use: rates, quotas and requests at once (`createLimits`), the memory of bodies, and what is shed under load.
 */
export { getPrincipalKey, type LimitedRequest } from './limit-key.ts'
export {
  createLimits,
  type FailedAuthentications,
  LimitExceeded,
  type LimitLease,
  type Limits,
} from './limits.ts'
export { type BodyMemory, createBodyMemory } from './overload/body-memory.ts'
export { type CapacityHolder, FairCapacity } from './overload/fair-capacity.ts'
export { createLoadShedder, type LoadShedder, Overloaded } from './overload/load-shedder.ts'
export { getPoolName, type PoolName, poolNames } from './overload/shed-class.ts'
export { readRedisAccess } from './shared/bucket-store.ts'
export { openSharedLimits, type SharedLimits, type SyncObserver } from './shared/shared-limits.ts'
export { createBuckets } from './token-buckets.ts'
