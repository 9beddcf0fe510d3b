import type { LimitReason } from './limit-exceeded.ts'
import type { LimitKeyFunction, LimitedRequest } from './limit-key.ts'

/** One limit of the settings. Nothing in it waits, so that all limits of a request can be asked before any is used. */
export interface Limit {
  readonly reason: LimitReason
  /** In the words of whoever has reached it: `the limit "reads" of 5 requests a second`. */
  readonly title: string
  readonly keyFor: LimitKeyFunction
  /** How long until the request would be let in; 0 for at once. Where nobody knows, a guess. */
  waitMs(key: string, request: LimitedRequest, now: number): number
  /** Lets the request in. Answers what follows it, where something does. */
  take(key: string, request: LimitedRequest, now: number): LimitLease | undefined
  /** Counts so many more requests, whether or not they would be let in; missing where requests are not counted. */
  readonly takeEntries?: (key: string, requests: number, now: number) => void
}

/** What a request that was let in has of a limit. */
export interface LimitLease {
  /** Bytes of its body have arrived. */
  readonly countReceived?: (bytes: number) => void
  /** Bytes of its answer have been sent. */
  readonly countSent?: (bytes: number) => void
  /** It is over; told once. */
  readonly release: () => void
}
