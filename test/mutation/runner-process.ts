import { createVitest, type Vitest } from 'vitest/node'
import type { RunRequest, RunResult } from './test-runner.ts'

/**
 * Runs tests of the copy in the working directory for each RunRequest and sends a RunResult. Vitest stays loaded between
 * runs: starting it takes longer than most tests.
 */
const vitest: Vitest = await createVitest(
  'test',
  // One failed test is enough to know that a mutant is found.
  { watch: false, bail: 1, maxWorkers: 1, project: 'main', reporters: [{}], silent: true },
  // The packages are shared with the working tree, and so would be the cache within their folder.
  { cacheDir: '.vite', logLevel: 'silent' },
)
process.on('message', (request: RunRequest) => void run(request))
process.send?.('ready')

async function run({ mutated, tests }: RunRequest): Promise<void> {
  vitest.invalidateFile(mutated)
  const specifications = await vitest.globTestSpecifications([...tests])
  const { testModules, unhandledErrors } = await vitest.runTestSpecifications(specifications)
  const failures = testModules.flatMap((module) => [
    ...module.errors(),
    ...[...module.children.allTests('failed')].flatMap((test) => test.result().errors ?? []),
  ])
  const result: RunResult = {
    files: testModules.length,
    isPassed: testModules.every((module) => module.ok()) && unhandledErrors.length === 0,
    failure: [...failures, ...unhandledErrors.map((error) => error as Error)][0]?.message,
  }
  process.send?.(result)
}
