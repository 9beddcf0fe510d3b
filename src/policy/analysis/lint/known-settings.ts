/** What lint knows of the gateway besides its policies; undefined if it is not known. */
export interface KnownSettings {
  /** Names of token issuers and other sources, which prefix their principals and groups. */
  readonly issuers: readonly string[] | undefined
  /** Principals and groups of API keys. */
  readonly keys:
    | { readonly principals: ReadonlySet<string>; readonly groups: ReadonlySet<string> }
    | undefined
  /** Context keys that the audit log records. */
  readonly recordedContextKeys: readonly string[] | undefined
}

export const unknownSettings: KnownSettings = {
  issuers: undefined,
  keys: undefined,
  recordedContextKeys: undefined,
}
