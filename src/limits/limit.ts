import type { LimitReason } from './limit-exceeded.ts'
import type { LimitKeyFunction, LimitedRequest } from './limit-key.ts'

/** All methods are synchronous, so that all limits of a request are checked before any is charged. */
export interface Limit {
  readonly reason: LimitReason
  /** Description for callers: `the limit "reads" of 5 requests a second (limits.rates of the gateway)`. */
  readonly title: string
  readonly keyFor: LimitKeyFunction
  /** 0 if the request is admitted now; an estimate if unknown. */
  waitMs(key: string, request: LimitedRequest, now: number): number
  /** Admits and charges the request. Returns a lease if its further events must be reported. */
  take(key: string, request: LimitedRequest, now: number): LimitLease | undefined
  /** Charges further requests without a check; absent if the limit does not count requests. */
  readonly chargeEntries?: (key: string, requests: number, now: number) => void
}

export interface LimitLease {
  readonly countReceived?: (bytes: number) => void
  readonly countSent?: (bytes: number) => void
  /** Reports the end of the request; called once. */
  readonly release: () => void
}
