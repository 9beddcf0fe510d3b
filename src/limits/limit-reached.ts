import { InterfaceError } from '../interface/errors.ts'

/** What was too much: for metrics and the log. */
export type LimitReason = 'rate' | 'bytes' | 'concurrency' | 'failed_authentications'

/** A caller has taken its share: 429 with `retry-after` in whole seconds. */
export class LimitReached extends InterfaceError {
  readonly reason: LimitReason

  constructor(reason: LimitReason, message: string, waitMs: number) {
    const seconds = String(Math.max(1, Math.ceil(waitMs / 1000)))
    super('Throttling', message, { headers: { 'retry-after': seconds } })
    this.reason = reason
  }
}
