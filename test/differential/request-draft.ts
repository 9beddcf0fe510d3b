import type { Operation } from '../../src/catalog-api/operations.ts'

/** A request as text, before it is serialized. */
export interface RequestDraft {
  readonly operation: Operation
  /** Intended id; mutations do not change it. */
  readonly id: readonly string[]
  readonly method: string
  /** With its leading slash, percent-encoded. */
  readonly path: string
  /** Pairs such as `limit=1`, percent-encoded. */
  readonly query: readonly string[]
  readonly version: string
  /** Header lines without content-length and transfer-encoding. */
  readonly lines: readonly string[]
  readonly body: Buffer | undefined
}
