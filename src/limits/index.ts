/** Limits of callers: rates, quotas and concurrency (`createLimits`), the memory of bodies, and load shedding. */
export { createLimits, getPrincipalKey, LimitExceeded, type Limits } from './limits.ts'
export { FairCapacity, Overloaded } from './overload/fair-capacity.ts'
export {
  createLoadShedder,
  getPoolName,
  type LoadShedder,
  type PoolName,
  poolNames,
} from './overload/load-shedder.ts'
export { openSharedLimits, readRedisAccess, type SyncObserver } from './shared/shared-limits.ts'
export { TokenBuckets } from './token-buckets.ts'
