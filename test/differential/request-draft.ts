import type { Operation } from '../../src/catalog-api/operations.ts'

/** A request as text, part by part, before its bytes are put together. Text that is not ASCII is sent as UTF-8. */
export interface RequestDraft {
  readonly operation: Operation
  /** What it was meant for. */
  readonly id: readonly string[]
  readonly method: string
  /** With its leading slash, percent-encoded. */
  readonly path: string
  /** Pairs as they are written: `limit=1`. */
  readonly query: readonly string[]
  readonly version: string
  /** Header lines besides those that say where the body ends. */
  readonly lines: readonly string[]
  readonly body: Buffer | undefined
}
