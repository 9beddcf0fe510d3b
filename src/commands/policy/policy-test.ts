import type { Command } from 'commander'
import {
  describeExpectation,
  describeSent,
  qualifiedRuleName,
  runTests,
  type TestResult,
  type TestRun,
} from '../../policy/testing/decision-test.ts'
import type { Decision } from '../../policy/engine/decision.ts'
import { readPolicies, type LoadedPolicies } from '../../policy/source/load-policies.ts'
import type { PolicyDocument } from '../../policy/language/policy-document.ts'
import { getPolicyName } from '../../policy/language/policy-instance.ts'
import type { PolicyVocabulary } from '../../policy/language/policy-vocabulary.ts'
import { jsonOption } from '../common/arguments.ts'
import { runStep, CommandFailure } from '../common/command-failure.ts'
import { printJson, printLine, type Io } from '../common/io.ts'
import { formatExample } from '../common/new-command.ts'
import { addSourceOptions, requireSources, type SourceOptions } from './policy-sources.ts'
import { formatRule } from './format-policy.ts'

interface Options extends SourceOptions {
  readonly tests?: string
  readonly json?: true
}

interface Coverage {
  readonly rules: number
  readonly tested: number
  readonly percent: number
  readonly untested: readonly string[]
}

export function addTest(policy: Command, io: Io): void {
  addSourceOptions(policy.command('test').description('run the tests in the policies and in decision tables'))
    .option('--tests <dir>', 'a folder of decision tables (kind: DecisionTable)')
    .option(...jsonOption)
    .addHelpText('after', formatExample('catalog-gateway policy test --policies policies'))
    .action((options: Options) => test(options, io))
}

async function test(options: Options, io: Io): Promise<void> {
  const { tests, json } = options
  const loaded = await requireSources(options, io)
  const all = [...loaded.tests, ...(tests === undefined ? [] : await loadTests(tests, loaded.vocabulary))]
  if (all.length === 0) {
    throw new CommandFailure(
      'no tests in the policies; add "tests" to a policy or write a document of kind DecisionTable',
    )
  }
  const { set, withShadowPolicies } = loaded
  const shadows = new Set(
    withShadowPolicies.documents.filter(({ isShadow }) => isShadow).map(({ name }) => name),
  )
  const run = runTests(all, ({ document }) => (shadows.has(document) ? withShadowPolicies.set : set))
  const coverage = measureCoverage(run, withShadowPolicies.documents)
  const failed = run.results.filter(({ mismatches }) => mismatches.length > 0)
  if (json) printJson(io, toReport(run, coverage))
  else printResults(io, run, failed, coverage)
  if (failed.length > 0) throw new CommandFailure(`${failed.length} of ${all.length} tests failed`)
}

async function loadTests(folder: string, vocabulary: PolicyVocabulary): Promise<LoadedPolicies['tests']> {
  const { documents, tests } = await runStep(`the tests in ${folder} cannot be used`, () =>
    readPolicies([folder], vocabulary),
  )
  const [policy] = documents
  if (policy === undefined) {
    if (tests.length === 0)
      throw new CommandFailure(`${folder} contains no decision table in .yaml or .yml files`)
    return tests
  }
  throw new CommandFailure(
    `${folder} contains the policy ${policy.name} (${policy.file}:${policy.line}); expected decision tables only`,
  )
}

function measureCoverage({ decidingRules }: TestRun, documents: readonly PolicyDocument[]): Coverage {
  const isTested = new Map<string, boolean>()
  for (const document of documents) {
    for (const { id } of document.rules) {
      // A rule of a policy with forEach is one rule, tested if it is for each value.
      const rule = qualifiedRuleName({ policy: getPolicyName(document), rule: id })
      const isDeciding = decidingRules.has(qualifiedRuleName({ policy: document.name, rule: id }))
      isTested.set(rule, isDeciding && isTested.get(rule) !== false)
    }
  }
  const untested = [...isTested].filter(([, tested]) => !tested).map(([rule]) => rule)
  const rules = isTested.size
  const tested = rules - untested.length
  const percent = rules === 0 ? 100 : Math.floor((100 * tested) / rules)
  return { rules, tested, percent, untested }
}

function printResults(io: Io, { results }: TestRun, failed: readonly TestResult[], coverage: Coverage): void {
  for (const outcome of failed) {
    const { test, mismatches } = outcome
    printLine(io, `FAILED ${test.file}:${test.line}  ${testTitle(outcome)}`)
    for (const mismatch of mismatches) {
      printLine(io, `  ${mismatch.permission}`)
      printLine(io, `    expected  ${describeExpectation(test)}`)
      printLine(io, `    decided   ${formatDecision(mismatch.decision)}${describeSent(test, mismatch)}`)
    }
  }
  const decisions = results.reduce((sum, { test }) => sum + test.requests.length, 0)
  printLine(
    io,
    `${results.length - failed.length} of ${results.length} tests passed (${decisions} decisions)`,
  )
  printLine(io, `rule coverage: ${coverage.tested} of ${coverage.rules} (${coverage.percent} %)`)
  for (const rule of coverage.untested) printLine(io, `  untested: ${rule}`)
}

function testTitle({ test }: TestResult): string {
  return test.name === '' ? test.document : test.name
}

function formatDecision(decision: Decision): string {
  const word = decision.allowed ? 'allow' : 'deny'
  return decision.rule ? `${word} by ${formatRule(decision.rule)}` : `${word}: no rule allows it`
}

function toReport({ results }: TestRun, coverage: Coverage): unknown {
  return {
    tests: results.map(({ test, mismatches }) => ({
      name: test.name,
      document: test.document,
      file: test.file,
      line: test.line,
      passed: mismatches.length === 0,
      expected: test.expect,
      ...(test.rule !== undefined && { expectedRule: test.rule }),
      ...(test.sends !== undefined && { expectedSends: test.sends }),
      ...(test.columns !== undefined && { expectedColumns: test.columns }),
      disagreements: mismatches.map(({ permission, decision: { allowed, rule }, restriction }) => ({
        operation: permission,
        decided: allowed ? 'allow' : 'deny',
        ...(rule && { rule }),
        ...(restriction?.rows !== undefined && { sends: restriction.rows }),
        ...(restriction && { columns: [...restriction.columns.keys()] }),
      })),
    })),
    coverage,
  }
}
