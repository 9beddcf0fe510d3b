import type { CatalogError } from '../../catalog-api/catalog-error.ts'

/** The end of a request, for its log line, metrics and spans. */
export interface RequestEnd {
  /** Name of the operation or document, or `unknown`. */
  readonly operation: string
  /** Status of the response; 499 if the client disconnected first. */
  readonly status: number
  /** Decision of the policies; `none` if they were not asked, or not about the body. */
  readonly decision: 'allow' | 'deny' | 'none'
  readonly refusal: CatalogError | undefined
  /** Milliseconds of performance.now(). */
  readonly endedAt: number
}
