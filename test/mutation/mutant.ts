/** A change to a source file that a test should detect. Positions are UTF-16 units of the source. */
export interface Mutant {
  readonly start: number
  readonly end: number
  readonly replacement: string
  /** One-based. */
  readonly line: number
  /** The source line, trimmed. Together with `change` it identifies the mutant even if lines move. */
  readonly lineText: string
  /** Old and new text, as `a < b -> a <= b`. */
  readonly change: string
}
