/** Until when an allow rule applies, and who approved it; recorded with each request that it allows. */
export interface Grant {
  /** ISO 8601, UTC; the rule applies before this time. */
  readonly until?: string
  readonly approvedBy?: string
}

/** `until 2027-01-31T10:00:00Z`, `approved by ada`: what a grant has of these. */
export function listGrantTexts({ until, approvedBy }: Grant): readonly string[] {
  return [
    ...(until === undefined ? [] : [`until ${until}`]),
    ...(approvedBy === undefined ? [] : [`approved by ${approvedBy}`]),
  ]
}
