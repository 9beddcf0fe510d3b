import type { UserConsoleLog } from 'vitest'
import type { Reporter, TestModule } from 'vitest/node'

const limitMs = 10_000

/** Lists after a run what this machine lacks for tests, and the test files that took more than ten seconds: people do not wait. */
export class RunReport implements Reporter {
  readonly #skipped = new Set<string>()

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
