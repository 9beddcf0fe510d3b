import type { LimitKeyFunction, LimitedRequest } from './limit-key.ts'
import { CatalogError } from '../catalog-api/catalog-error.ts'

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

type LimitReason =
  | 'rate_limited'
  | 'quota_exceeded'
  | 'concurrency_limited'
  | 'too_many_failed_authentications'

/** A caller has exceeded a limit: 429 with `retry-after` in whole seconds, which the message repeats. */
export class LimitExceeded extends CatalogError {
  constructor(reason: LimitReason, message: string, waitMs: number) {
    const seconds = String(Math.max(1, Math.ceil(waitMs / 1000)))
    super('Throttling', `${message}; retry in ${seconds} s`, { reason, headers: { 'retry-after': seconds } })
  }
}
