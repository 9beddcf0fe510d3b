/** An absent, empty or `main` branch is the main branch. Without a version: the newest one, the only writable one. */
export interface TablePoint {
  readonly location: string
  readonly branch?: string | undefined
  readonly version?: number | undefined
}

export interface VersionPoint extends TablePoint {
  readonly version: number
}
