import type { Command } from 'commander'
import { formatDisagreements, runTests, type TestResult } from '../../policy/index.ts'
import { CommandFailure } from '../common/command-failure.ts'
import type { Io } from '../common/io.ts'
import { addReport, type Report } from './policy-report.ts'
import { addSourceOptions, loadSources, readPolicyContext, type SourceOptions } from './policy-sources.ts'

export function addTest(policy: Command, io: Io): void {
  const command = policy.command('test').description('run the tests in the policies')
  addSourceOptions(command)
  addReport(command, io, ['test --policies policies'], (options: SourceOptions) => test(options, io))
}

async function test(options: SourceOptions, io: Io): Promise<Report> {
  const loaded = await loadSources(await readPolicyContext(options.config, io, options.policies))
  const { tests } = loaded
  if (tests.length === 0) throw new CommandFailure('no tests in the policies; add "tests" to one of them')
  const { results, coverage } = runTests(tests, loaded)
  const failed = results.filter(({ passed }) => !passed)
  const decisions = results.reduce((sum, one) => sum + one.decisions, 0)
  const lines = [
    ...failed.flatMap(formatFailure),
    `${tests.length - failed.length} of ${tests.length} tests passed (${decisions} decisions)`,
    `rule coverage: ${coverage.tested} of ${coverage.rules} (${coverage.percent} %)`,
    ...coverage.untested.map((rule) => `  untested: ${rule}`),
  ]
  const failure = failed.length > 0 ? `${failed.length} of ${tests.length} tests failed` : undefined
  return { content: { tests: results, coverage }, lines, failure }
}

function formatFailure(test: TestResult): readonly string[] {
  const { file, line, name, document } = test
  const lines = formatDisagreements(test).map((text) => `  ${text}`)
  return [`FAILED ${file}:${line}  ${document}${name && `: ${name}`}`, ...lines]
}
