import type { Reporter, TestModule } from 'vitest/node'

const limitMs = 10_000

/** Lists, after a run, the test files that took more than ten seconds: people do not wait for them. */
export class SlowFiles implements Reporter {
  onTestRunEnd(files: readonly TestModule[]): void {
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
