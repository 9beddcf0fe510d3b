/** Mutants of one line that change nothing a test could notice. */
export interface EquivalentMutants {
  readonly file: string
  /** The source line, trimmed. */
  readonly line: string
  /** As the survivors are printed. */
  readonly changes: readonly string[]
  readonly reason: string
}

export const equivalentMutants: readonly EquivalentMutants[] = []
