import type { Command } from 'commander'
import { formatDisagreements, type LoadedPolicies, runTests, type TestResult } from '../../policy/index.ts'
import { CommandFailure } from '../common/command-failure.ts'
import type { Io } from '../common/io.ts'
import { newCommand } from '../common/new-command.ts'
import { addDiff, addReplay } from './policy-changes.ts'
import { addSourceReport, type Report } from './policy-command.ts'
import { addLint } from './policy-lint.ts'
import { addExplain, addWhatCan, addWhoCan } from './policy-queries.ts'

export function policyCommand(io: Io): Command {
  const policy = newCommand('policy', io).description('test, explain, compare and query access policies')
  for (const add of [addTest, addExplain, addWhoCan, addWhatCan, addLint, addDiff, addReplay]) add(policy, io)
  return policy
}

function addTest(policy: Command, io: Io): void {
  const command = policy.command('test').description('run the tests in the policies')
  addSourceReport(command, io, ['test --policies policies'], test)
}

function test(loaded: LoadedPolicies): Report {
  const { tests } = loaded
  if (tests.length === 0) throw new CommandFailure('no tests in the policies; add "tests" to one of them')
  const { results, untested } = runTests(tests, loaded)
  const failed = results.filter(({ passed }) => !passed)
  const decisions = results.reduce((sum, one) => sum + one.decisions, 0)
  const lines = [
    ...failed.flatMap(formatFailure),
    `${tests.length - failed.length} of ${tests.length} tests passed (${decisions} decisions)`,
    ...untested.map((rule) => `untested: ${rule}`),
  ]
  const failure = failed.length > 0 ? `${failed.length} of ${tests.length} tests failed` : undefined
  return { content: { tests: results, untested }, lines, failure }
}

function formatFailure(test: TestResult): readonly string[] {
  const { file, line, name, document } = test
  const lines = formatDisagreements(test).map((text) => `  ${text}`)
  return [`FAILED ${file}:${line}  ${document}${name && `: ${name}`}`, ...lines]
}
