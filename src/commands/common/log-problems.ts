import type { LogProblem } from '../../audit/index.ts'
import { formatCount } from '../../lib/index.ts'
import { CommandFailure } from './command-failure.ts'
import type { Io } from './io.ts'

const maxPrinted = 100

export function formatProblem({ file, line, what }: LogProblem): string {
  return `${file}${line === undefined ? '' : `:${line}`}: ${what}`
}

/** Prints problems of a log on standard error, once each. */
export function createLogProblems({ stderr }: Io) {
  const found = new Set<string>()

  /** Describes that the result lacks the skipped lines; undefined if there were no problems. */
  function describe(): string | undefined {
    if (found.size === 0) return undefined
    return `${formatCount(found.size, 'problem')} in the audit log; the lines were skipped, \`audit verify\` says more`
  }

  return {
    report: (problem: LogProblem): void => {
      const text = formatProblem(problem)
      if (found.has(text)) return
      found.add(text)
      if (found.size <= maxPrinted) stderr.write(`${text}\n`)
    },
    describe,
    /** Throws CommandFailure if there was anything. */
    assertNone(): void {
      const failure = describe()
      if (failure !== undefined) throw new CommandFailure(failure)
    },
  }
}
