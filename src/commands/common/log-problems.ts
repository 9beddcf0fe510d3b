import type { LogProblem } from '../../audit/index.ts'
import { formatCount } from '../../lib/index.ts'
import { CommandFailure } from './command-failure.ts'
import type { Io } from './io.ts'

const maxPrinted = 100

export function formatProblem({ file, line, what }: LogProblem): string {
  return `${file}${line === undefined ? '' : `:${line}`}: ${what}`
}

/** Prints what a log has besides its records on standard error, once each. */
export class LogProblems {
  readonly #io: Io
  readonly #found = new Set<string>()

  constructor(io: Io) {
    this.#io = io
  }

  readonly report = (problem: LogProblem): void => {
    const text = formatProblem(problem)
    if (this.#found.has(text)) return
    this.#found.add(text)
    if (this.#found.size <= maxPrinted) this.#io.stderr.write(`${text}\n`)
  }

  /** Throws CommandFailure if there was anything: the result lacks what these lines said. */
  assertNone(): void {
    const { size } = this.#found
    if (size > 0)
      throw new CommandFailure(
        `${formatCount(size, 'problem')} in the audit log; the lines were skipped, \`audit verify\` says more`,
      )
  }
}
