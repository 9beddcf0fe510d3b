import { CatalogError } from '../catalog-api/catalog-error.ts'

export type LimitReason =
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
