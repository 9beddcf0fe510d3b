import type { LimitReason } from './limit-exceeded.ts'
import type { LimitKeyFunction, LimitedRequest } from './limit-key.ts'

/**
 * A configured limit. All methods are synchronous, so that all limits of a request can be checked before any is
 * charged.
 */
export interface Limit {
  readonly reason: LimitReason
  /** Description for callers: `the limit "reads" of 5 requests a second`. */
  readonly title: string
  readonly keyFor: LimitKeyFunction
  /** Returns the milliseconds until the request would be admitted; 0 for now. An estimate if unknown. */
  waitMs(key: string, request: LimitedRequest, now: number): number
  /** Admits and charges the request. Returns a lease if its further events must be reported. */
  take(key: string, request: LimitedRequest, now: number): LimitLease | undefined
  /** Charges further requests without a check; absent if the limit does not count requests. */
  readonly takeEntries?: (key: string, requests: number, now: number) => void
}

/** Capacity held by an admitted request. */
export interface LimitLease {
  /** Reports received bytes of the request body. */
  readonly countReceived?: (bytes: number) => void
  /** Reports sent bytes of the response body. */
  readonly countSent?: (bytes: number) => void
  /** Reports the end of the request; called once. */
  readonly release: () => void
}
