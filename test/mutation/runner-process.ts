import { createVitest, type Vitest } from 'vitest/node'
import type { RunRequest, RunResult } from './test-runner.ts'

/**
 * Runs tests of the copy in the working directory for each RunRequest and sends a RunResult. Vitest stays loaded
 * between runs: starting it takes longer than most tests.
 */
const vitest: Vitest = await createVitest(
  'test',
  // One failed test is enough to detect a mutant.
  { watch: false, bail: 1, maxWorkers: 1, project: 'main', reporters: [{}], silent: true },
  // The packages are shared with the working tree; the cache within their folder must not be.
  { cacheDir: '.vite', logLevel: 'silent' },
)
process.on('message', (request: RunRequest) => void run(request))
process.send?.('ready')

async function run({ mutated, tests }: RunRequest): Promise<void> {
  vitest.invalidateFile(mutated)
  let result: RunResult = { files: 0, failure: undefined }
  for (const path of tests) {
    const { files, failure } = await runTests(path)
    result = { files: result.files + files, failure }
    if (failure !== undefined) break
  }
  process.send?.(result)
}

async function runTests(path: string): Promise<RunResult> {
  const specifications = await vitest.globTestSpecifications([path])
  const run = await vitest.runTestSpecifications(specifications)
  // It also has the results that other files had with earlier mutants.
  const modules = new Set(specifications.map(({ moduleId }) => moduleId))
  const testModules = run.testModules.filter(({ moduleId }) => modules.has(moduleId))
  const { unhandledErrors } = run
  const errors = [
    ...testModules.flatMap((module) => module.errors()),
    ...testModules.flatMap((module) =>
      [...module.children.allTests('failed')].flatMap((test) => test.result().errors ?? []),
    ),
    ...unhandledErrors.map((error) => error as Error),
  ]
  const isPassed = testModules.every((module) => module.ok()) && unhandledErrors.length === 0
  const failure = isPassed ? undefined : (errors[0]?.message ?? 'a test failed without an error')
  return { files: testModules.length, failure }
}
