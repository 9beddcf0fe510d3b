import { relative } from 'node:path'
import { createVitest, type TestSpecification, type Vitest } from 'vitest/node'
import type { RunRequest, RunResult } from './test-runner.ts'

/** Keeps the order of `inOrder`: that of vitest begins with what takes long. */
class Sequencer {
  readonly shard = (files: TestSpecification[]): TestSpecification[] => files
  readonly sort = (files: TestSpecification[]): TestSpecification[] => files
}

/**
 * Runs tests of the copy in the working directory for each RunRequest and sends a RunResult. Vitest stays loaded
 * between runs: starting it takes longer than most tests.
 */
const vitest: Vitest = await createVitest(
  'test',
  {
    watch: false,
    // One failed test is enough to detect a mutant.
    bail: 1,
    fileParallelism: false,
    project: 'main',
    // A test that waits in vain has also detected it.
    testTimeout: 10_000,
    hookTimeout: 10_000,
    reporters: [{}],
    silent: true,
    sequence: { sequencer: Sequencer },
  },
  // The packages are shared with the working tree; the cache within their folder must not be.
  { cacheDir: '.vite', logLevel: 'silent' },
)
/** Test files that detected mutants, the latest first: it probably detects the next one. */
let detectors: readonly string[] = []
process.on('message', (request: RunRequest) => void run(request))
process.send?.('ready')

async function run({ mutated, tests }: RunRequest): Promise<void> {
  vitest.invalidateFile(mutated)
  const specifications = await vitest.globTestSpecifications([...tests])
  const run = await vitest.runTestSpecifications(inOrder(specifications, tests))
  // It also has the results that other files had with earlier mutants.
  const modules = new Set(specifications.map(({ moduleId }) => moduleId))
  const testModules = run.testModules.filter(({ moduleId }) => modules.has(moduleId))
  const { unhandledErrors } = run
  const failed = testModules.filter((module) => !module.ok())
  const errors = [
    ...failed.flatMap((module) => module.errors()),
    ...failed.flatMap((module) =>
      [...module.children.allTests('failed')].flatMap((test) => test.result().errors ?? []),
    ),
    ...unhandledErrors.map((error) => error as Error),
  ]
  detectors = [...new Set([...failed.map(({ moduleId }) => moduleId), ...detectors])]
  const isPassed = failed.length === 0 && unhandledErrors.length === 0
  const failure = isPassed ? undefined : (errors[0]?.message ?? 'a test failed without an error')
  process.send?.({ files: testModules.length, failure } satisfies RunResult)
}

/** Orders test files: those that detected mutants, then as they are listed in `tests`. */
function inOrder(specifications: TestSpecification[], tests: readonly string[]): TestSpecification[] {
  const rank = ({ moduleId }: TestSpecification): number => {
    const recent = detectors.indexOf(moduleId)
    const path = relative(process.cwd(), moduleId)
    return recent >= 0 ? recent - detectors.length : tests.findIndex((listed) => path.startsWith(listed))
  }
  return specifications.toSorted((one, other) => rank(one) - rank(other))
}
