import type { Outbound } from '../outbound/index.ts'
import type { KeyChange } from './api-keys/key-changes.ts'

/** An event outside of requests, for the log. */
export interface IdentityEvent {
  /** `api-keys`, or the name of an issuer. */
  readonly source: string
  /**
   * `changed`: new keys are in force. `failed`: the previous ones remain. `unwritten`: data could not be persisted.
   * `refused-keys`: keys of the store have another pepper, and only the others are in force.
   * `found`: a start found changes since they were last recorded. `not-compared`: a start could not find them out.
   * `unusable-keys`: some of the new keys cannot verify signatures. `missing-groups`: a valid token has no groups claim.
   */
  readonly outcome:
    | 'changed'
    | 'failed'
    | 'found'
    | 'not-compared'
    | 'unwritten'
    | 'refused-keys'
    | 'unusable-keys'
    | 'missing-groups'
  readonly cause?: unknown
  /** Of a key store that was read again; absent for other keys. */
  readonly changes?: readonly KeyChange[]
  /** Must be called when the changes are in the audit log. */
  readonly onRecorded?: () => void
}

/** Receives identity events; must not throw. */
export type ReportEvent = (event: IdentityEvent) => void

/** When a JWKS is fetched, in seconds. */
export interface JwksTiming {
  /** A JWKS is fetched before it is this old. */
  readonly refresh: number
  /** Minimum time between two fetches caused by unknown keys. */
  readonly cooldown: number
  /** How long the last JWKS is used while the issuer is unreachable. */
  readonly maxStale: number
  /** Timeout of a fetch. */
  readonly timeout: number
}

/** What all sources of identities need of the process. */
export interface IdentityRuntime {
  readonly report: ReportEvent
  /** How connections to issuers are opened. */
  readonly outbound: Outbound
  /** Current time in milliseconds. */
  readonly now: () => number
  /** Poll interval for files. */
  readonly reloadIntervalMs: number
  /** Deviations from `defaultJwksTiming`. */
  readonly jwksTiming?: Partial<JwksTiming>
}
