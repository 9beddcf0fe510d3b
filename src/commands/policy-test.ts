import { writeFile } from 'node:fs/promises'
import { InvalidArgumentError, type Command } from 'commander'
import { fullName, runTests, type TestOutcome, type TestRun } from '../policy/decision-test.ts'
import type { Decision } from '../policy/decision.ts'
import { readPolicies, type PolicyFolder } from '../policy/folder.ts'
import { junitReport } from '../policy/junit-report.ts'
import type { PolicyDocument } from '../policy/policy-document.ts'
import { attempt, CommandFailure } from './failure.ts'
import { jsonOption, policiesIn, policiesOption } from './policy-arguments.ts'
import { print, printJson, showRule } from './policy-text.ts'

interface Options {
  readonly policies: string
  readonly tests?: string
  readonly junit?: string
  readonly minCoverage?: number
  readonly json?: true
}

interface Coverage {
  readonly rules: number
  readonly tested: number
  readonly percent: number
  readonly untested: readonly string[]
}

/** `policy test`: whether policies decide what is expected of them. */
export function addTest(policy: Command): void {
  policy
    .command('test')
    .description('run the tests in the policies and in decision tables')
    .requiredOption(...policiesOption)
    .option('--tests <dir>', 'a folder of decision tables (kind: DecisionTable)')
    .option('--junit <file>', 'write a JUnit report')
    .option('--min-coverage <percent>', 'fail if fewer rules are covered by tests (percent)', percent)
    .option(...jsonOption)
    .addHelpText('after', '\nExample:\n  catalog-gateway policy test --policies policies --min-coverage 80')
    .action(test)
}

async function test({ policies, tests, junit, minCoverage, json }: Options): Promise<void> {
  const folder = await policiesIn(policies)
  const all = [...folder.tests, ...(tests === undefined ? [] : await tablesIn(tests))]
  if (all.length === 0) {
    throw new CommandFailure(
      `no tests in ${policies}; add "tests" to a policy or write a document of kind DecisionTable`,
    )
  }
  const { set, withShadows } = folder
  const shadows = new Set(withShadows.documents.filter(({ isShadow }) => isShadow).map(({ name }) => name))
  const run = runTests(all, ({ document }) => (shadows.has(document) ? withShadows.set : set))
  const coverage = coverageOf(run, withShadows.documents)
  if (junit !== undefined) {
    await attempt('the JUnit report cannot be written', () => writeFile(junit, junitReport(run)))
  }
  const failed = run.outcomes.filter(({ disagreements }) => disagreements.length > 0)
  if (json) printJson(reportOf(run, coverage))
  else show(run, failed, coverage)
  if (failed.length > 0) throw new CommandFailure(`${failed.length} of ${all.length} tests failed`)
  if (minCoverage !== undefined && coverage.percent < minCoverage) {
    throw new CommandFailure(
      `rule coverage ${coverage.percent} %; expected ${minCoverage} %: add tests for ${coverage.untested.join(', ')}`,
    )
  }
}

async function tablesIn(folder: string): Promise<PolicyFolder['tests']> {
  const { documents, tests } = await attempt(`the tests in ${folder} cannot be used`, () =>
    readPolicies(folder),
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

function coverageOf({ deciding }: TestRun, documents: readonly PolicyDocument[]): Coverage {
  const rules = documents.flatMap(({ name, rules }) =>
    rules.map(({ id }) => fullName({ policy: name, rule: id })),
  )
  const untested = rules.filter((rule) => !deciding.has(rule))
  const tested = rules.length - untested.length
  const percent = rules.length === 0 ? 100 : Math.floor((100 * tested) / rules.length)
  return { rules: rules.length, tested, percent, untested }
}

function show({ outcomes }: TestRun, failed: readonly TestOutcome[], coverage: Coverage): void {
  for (const outcome of failed) {
    const { test, disagreements } = outcome
    print(`FAILED ${test.file}:${test.line}  ${titleOf(outcome)}`)
    const rule = test.rule === undefined ? '' : ` by ${test.rule}`
    for (const { permission, decision } of disagreements) {
      print(`  ${permission}`)
      print(`    expected  ${test.expect}${rule}`)
      print(`    decided   ${showDecision(decision)}`)
    }
  }
  const decisions = outcomes.reduce((sum, { test }) => sum + test.questions.length, 0)
  print(`${outcomes.length - failed.length} of ${outcomes.length} tests passed (${decisions} decisions)`)
  print(`rule coverage: ${coverage.tested} of ${coverage.rules} (${coverage.percent} %)`)
  for (const rule of coverage.untested) print(`  untested: ${rule}`)
}

function titleOf({ test }: TestOutcome): string {
  return test.name === '' ? test.document : test.name
}

function showDecision(decision: Decision): string {
  const word = decision.allowed ? 'allow' : 'deny'
  return decision.rule ? `${word} by ${showRule(decision.rule)}` : `${word}: no rule allows it`
}

function reportOf({ outcomes }: TestRun, coverage: Coverage): unknown {
  return {
    tests: outcomes.map(({ test, disagreements }) => ({
      name: test.name,
      document: test.document,
      file: test.file,
      line: test.line,
      passed: disagreements.length === 0,
      expected: test.expect,
      ...(test.rule !== undefined && { expectedRule: test.rule }),
      disagreements: disagreements.map(({ permission, decision: { allowed, rule } }) => ({
        operation: permission,
        decided: allowed ? 'allow' : 'deny',
        ...(rule && { rule }),
      })),
    })),
    coverage,
  }
}

function percent(text: string): number {
  const number = Number(text)
  if (/^\d+(\.\d+)?$/.test(text) && number <= 100) return number
  throw new InvalidArgumentError('expected a number from 0 to 100')
}
