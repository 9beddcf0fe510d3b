/** An event outside of requests, for the log. */
export interface IdentityEvent {
  /** `api-keys`, or the name of an issuer. */
  readonly source: string
  /** `changed`: new keys are in force. `failed`: the previous ones remain. `unwritten`: data could not be persisted. */
  readonly outcome: 'changed' | 'failed' | 'unwritten'
  readonly cause?: unknown
}

/** Receives identity events; must not throw. */
export type ReportEvent = (event: IdentityEvent) => void
