/** One change to a source file that a test should notice. Positions are UTF-16 units of the source. */
export interface Mutant {
  readonly start: number
  readonly end: number
  readonly replacement: string
  /** Counted from 1. */
  readonly line: number
  /** The source line, trimmed: with `change` it identifies the mutant even after lines have moved. */
  readonly lineText: string
  /** The replaced text and the new text, as `a < b -> a <= b`. */
  readonly change: string
}
