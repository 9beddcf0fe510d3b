/** An event outside of requests, for the log. */
export interface IdentityEvent {
  /** `api-keys`, or the name of an issuer. */
  readonly source: string
  /**
   * `changed`: new keys are in force. `failed`: the keys could not be loaded; the previous ones remain in force.
   * `unwritten`: data could not be persisted; the keys in force are not affected.
   */
  readonly outcome: 'changed' | 'failed' | 'unwritten'
  readonly cause?: unknown
}

/** Receives identity events; must not throw. */
export type ReportEvent = (event: IdentityEvent) => void
