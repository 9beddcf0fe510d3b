import type { CatalogError } from '../../catalog-api/catalog-error.ts'

/** How a request ended, for its line in the log, its metrics and its spans. */
export interface RequestEnd {
  /** The name of the operation or of the document, or `unknown`. */
  readonly operation: string
  /** What was answered; 499 where the client left before. */
  readonly status: number
  /** Of the policies; `none` where they were not asked, or what they allowed failed. */
  readonly decision: 'allow' | 'deny' | 'none'
  readonly refusal: CatalogError | undefined
  /** Milliseconds of performance.now(). */
  readonly endedAt: number
}
