export interface PolicyProblem {
  /** Relative to the policy folder. */
  readonly file: string
  /** From 1; undefined if the error concerns the whole file, for example if it cannot be read. */
  readonly line?: number
  readonly column?: number
  readonly message: string
}

/**
 * Thrown if policies cannot be used. Contains all errors; the message has one line `file:line:column: error` for each.
 */
export class PolicyError extends Error {
  override readonly name = 'PolicyError'
  readonly problems: readonly PolicyProblem[]

  constructor(problems: readonly PolicyProblem[]) {
    super(problems.map(formatProblem).join('\n'))
    this.problems = problems
  }
}

/** `file:line:column: error`. */
export function formatProblem({ file, line, column, message }: PolicyProblem): string {
  return line === undefined ? `${file}: ${message}` : `${file}:${line}:${column ?? 1}: ${message}`
}
