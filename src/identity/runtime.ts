import type { Outbound } from '../outbound/index.ts'

/** A difference between two readings of a key store. */
export interface KeyChange {
  /** `rotated`: created as the successor of `replaces`. `removed`: not by `keys`. `changed`: in `members`. */
  readonly change: 'created' | 'rotated' | 'revoked' | 'removed' | 'changed'
  /** Id of the key. */
  readonly key: string
  readonly principal: string
  /** Who created or revoked the key, as the store states. */
  readonly by?: string | undefined
  readonly replaces?: string | undefined
  readonly members?: readonly string[]
}

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
export const jwksTiming = {
  /** A JWKS is fetched before it is this old. */
  refresh: 600,
  /** Minimum time between two fetches caused by unknown keys. */
  cooldown: 30,
  /** How long the last JWKS is used while the issuer is unreachable. */
  maxStale: 86_400,
  /** Timeout of a fetch. */
  timeout: 5,
}

/** The dependencies of all sources of identities. */
export interface IdentityRuntime {
  readonly report: ReportEvent
  /** How connections to issuers are opened. */
  readonly outbound: Outbound
  /** Current time in milliseconds. */
  readonly now: () => number
  /** Poll interval for files. */
  readonly reloadIntervalMs: number
  /** Deviations from the default. */
  readonly jwksTiming?: Partial<typeof jwksTiming>
}
