/**
 * A point in the history of a table. Absent, empty and `main` are the main branch; without a version it is the
 * newest one, and the only point that can be written to.
 */
export interface TablePoint {
  readonly location: string
  readonly branch?: string | undefined
  readonly version?: number | undefined
}

/** One version of a branch. */
export interface VersionPoint extends TablePoint {
  readonly version: number
}
