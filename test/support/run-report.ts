import type { UserConsoleLog } from 'vitest'
import type { Reporter, TestModule, TestSpecification } from 'vitest/node'

const limitMs = 10_000
/** Test files between two lines of progress. */
const reportedFiles = 50
/** Of a test file on two cores, on average: most wait, so several run at a time. */
const secondsPerFile = 0.4

/**
 * Says how long a run will take, and how far it is. Lists after it what this machine lacks for tests, and the test files that
 * took more than ten seconds: people do not wait.
 */
export class RunReport implements Reporter {
  readonly #skipped = new Set<string>()
  #files = 0
  #ended = 0

  onTestRunStart({ length }: readonly TestSpecification[]): void {
    this.#files = length
    this.#ended = 0
    const minutes = Math.round((length * secondsPerFile) / 60)
    if (minutes > 0)
      console.log(`${length} test files: some ${minutes} min on two cores, the long ones first`)
  }

  onTestModuleEnd(): void {
    this.#ended += 1
    if (this.#ended % reportedFiles === 0) console.log(`\n${this.#ended} of ${this.#files} test files`)
  }

  onUserConsoleLog({ content }: UserConsoleLog): void {
    for (const [line] of content.matchAll(/^SKIPPED: .+$/gm)) this.#skipped.add(line)
  }

  onTestRunEnd(files: readonly TestModule[]): void {
    if (this.#skipped.size > 0) console.log(`\n${[...this.#skipped].toSorted().join('\n')}`)
    const slow = files
      .map((file) => ({ file, durationMs: file.diagnostic().duration }))
      .filter(({ durationMs }) => durationMs > limitMs)
      .toSorted((one, other) => other.durationMs - one.durationMs)
    if (slow.length === 0) return
    console.log(`\nTest files over ${limitMs / 1000} s:`)
    for (const { file, durationMs } of slow)
      console.log(`  ${Math.round(durationMs / 1000)} s  ${file.project.name}  ${file.relativeModuleId}`)
  }
}
