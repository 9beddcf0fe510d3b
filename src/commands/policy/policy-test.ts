import type { Command } from 'commander'
import {
  formatDisagreements,
  type LoadedPolicies,
  type PolicyVocabulary,
  readPolicies,
  runTests,
  type TestResult,
} from '../../policy/index.ts'
import { runStep, CommandFailure } from '../common/command-failure.ts'
import type { Io } from '../common/io.ts'
import { addReport, type Report } from './policy-report.ts'
import {
  addSourceOptions,
  loadSources,
  printRefused,
  readPolicyContext,
  type SourceOptions,
} from './policy-sources.ts'

interface Options extends SourceOptions {
  readonly tests?: string
}

export function addTest(policy: Command, io: Io): void {
  const command = policy.command('test').description('run the tests in the policies and in decision tables')
  addSourceOptions(command).option('--tests <dir>', 'a folder of decision tables (kind: DecisionTable)')
  addReport(command, io, ['test --policies policies'], (options: Options) => test(options, io))
}

async function test(options: Options, io: Io): Promise<Report> {
  const { tests: folder } = options
  const context = await readPolicyContext(options, io)
  const loaded = printRefused(await loadSources(context), io)
  const further = folder === undefined ? [] : await loadTests(folder, context.vocabulary)
  const tests = [...loaded.tests, ...further]
  if (tests.length === 0) {
    throw new CommandFailure(
      'no tests in the policies; add "tests" to a policy or write a document of kind DecisionTable',
    )
  }
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

async function loadTests(folder: string, vocabulary: PolicyVocabulary): Promise<LoadedPolicies['tests']> {
  const {
    documents: [policy],
    tests,
  } = await runStep(`the tests in ${folder} cannot be used`, () => readPolicies([folder], vocabulary))
  if (policy !== undefined)
    throw new CommandFailure(
      `${folder} contains the policy ${policy.name} (${policy.file}:${policy.line}); expected decision tables only`,
    )
  if (tests.length === 0)
    throw new CommandFailure(`${folder} contains no decision table in .yaml or .yml files`)
  return tests
}

function formatFailure(test: TestResult): readonly string[] {
  const { file, line, name, document } = test
  const lines = formatDisagreements(test).map((text) => `  ${text}`)
  return [`FAILED ${file}:${line}  ${document}${name && `: ${name}`}`, ...lines]
}
