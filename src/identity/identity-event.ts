/** Something that happened beside the requests, for the log. */
export interface IdentityEvent {
  /** `api-keys`, or the name of an issuer. */
  readonly source: string
  /**
   * `changed`: other keys are in force now. `failed`: they could not be read; what was in force before stays.
   * `unwritten`: something that is kept on disk could not be written; what is in force is not touched.
   */
  readonly outcome: 'changed' | 'failed' | 'unwritten'
  readonly cause?: unknown
}

/** Takes the events of identity; must not throw. */
export type ReportEvent = (event: IdentityEvent) => void
