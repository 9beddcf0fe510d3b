/** Mutants of one line that change nothing a test could notice. */
export interface EquivalentMutants {
  readonly file: string
  /** The source line, trimmed. */
  readonly line: string
  /** As the survivors are printed. */
  readonly changes: readonly string[]
  readonly reason: string
}

export const equivalentMutants: readonly EquivalentMutants[] = [
  {
    file: 'src/gateway/http/chunked-body.ts',
    line: '#left = 0',
    changes: ['0 -> 1'],
    reason: 'It is set before each chunk, and not read before the first one.',
  },
]
