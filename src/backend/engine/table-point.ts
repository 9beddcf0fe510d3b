/**
 * A point in the history of a table. An absent, empty or `main` branch is the main branch. Without a version it is the
 * newest one, the only point that can be written to.
 */
export interface TablePoint {
  readonly location: string
  readonly branch?: string | undefined
  readonly version?: number | undefined
}

export interface VersionPoint extends TablePoint {
  readonly version: number
}
