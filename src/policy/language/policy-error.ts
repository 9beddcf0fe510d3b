/** One fault in the policies: where it stands and what would be right. */
export interface PolicyProblem {
  /** The file, relative to the folder of policies. */
  readonly file: string
  /** From 1; missing where the fault is the whole file's, such as one that cannot be read. */
  readonly line?: number
  readonly column?: number
  readonly message: string
}

/** The policies cannot be used; holds all faults at once, and its message has one `file:line:column: fault` a line. */
export class PolicyError extends Error {
  override readonly name = 'PolicyError'
  readonly problems: readonly PolicyProblem[]

  constructor(problems: readonly PolicyProblem[]) {
    super(problems.map(formatProblem).join('\n'))
    this.problems = problems
  }
}

function formatProblem({ file, line, column, message }: PolicyProblem): string {
  return line === undefined ? `${file}: ${message}` : `${file}:${line}:${column ?? 1}: ${message}`
}
