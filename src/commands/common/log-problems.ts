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

  /** Describes that there was something, and the result lacks what these lines said; undefined if there was nothing. */
  describe(): string | undefined {
    const { size } = this.#found
    if (size === 0) return undefined
    return `${formatCount(size, 'problem')} in the audit log; the lines were skipped, \`audit verify\` says more`
  }

  /** Throws CommandFailure if there was anything. */
  assertNone(): void {
    const failure = this.describe()
    if (failure !== undefined) throw new CommandFailure(failure)
  }
}
