import type { Command } from 'commander'
import {
  qualifiedRuleName,
  runTests,
  type TestResult,
  type TestRun,
} from '../../policy/testing/decision-test.ts'
import { readPolicies, type LoadedPolicies } from '../../policy/source/load-policies.ts'
import type { PolicyDocument } from '../../policy/language/policy-document.ts'
import { getPolicyName } from '../../policy/language/for-each.ts'
import type { PolicyVocabulary } from '../../policy/language/policy-vocabulary.ts'
import { jsonOption } from '../common/arguments.ts'
import { runStep, CommandFailure } from '../common/command-failure.ts'
import type { Io } from '../common/io.ts'
import { formatExample } from '../common/new-command.ts'
import { addSourceOptions, requireSources, type SourceOptions } from './policy-sources.ts'
import { formatRule, printReport } from './format-policy.ts'

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
  const { results } = run
  const failed = results.filter(({ passed }) => !passed)
  printReport(io, json, { tests: results, coverage }, [
    ...failed.flatMap(formatFailure),
    ...formatSummary(results, failed.length, coverage),
  ])
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

function formatFailure({
  file,
  line,
  name,
  document,
  disagreements,
  ...test
}: TestResult): readonly string[] {
  const { expected, expectedRule, expectedMessage, expectedSends, expectedColumns } = test
  const expectation = [
    `${expected}${expectedRule === undefined ? '' : ` by ${expectedRule}`}`,
    ...(expectedMessage === undefined ? [] : [`message ${JSON.stringify(expectedMessage)}`]),
    ...(expectedSends === undefined ? [] : [`sends ${expectedSends}`]),
    ...(expectedColumns === undefined ? [] : [`columns ${expectedColumns.join(', ')}`]),
  ]
  return [
    `FAILED ${file}:${line}  ${name === '' ? document : name}`,
    ...disagreements.flatMap(({ operation, decided, rule, message = '', sends, columns }) => {
      const isAllowed = decided === 'allow'
      const found = [
        rule === undefined ? `${decided}: no rule allows it` : `${decided} by ${formatRule(rule)}`,
        ...(isAllowed || expectedMessage === undefined ? [] : [`message ${JSON.stringify(message)}`]),
        ...(isAllowed && expectedSends !== undefined ? [`sends ${sends ?? 'no condition on rows'}`] : []),
        ...(isAllowed && expectedColumns !== undefined
          ? [`columns ${columns === undefined ? 'all' : columns.join(', ') || 'none'}`]
          : []),
      ]
      return [
        `  ${operation}`,
        `    expected  ${expectation.join(', ')}`,
        `    decided   ${found.join(', ')}`,
      ]
    }),
  ]
}

function formatSummary(
  results: readonly TestResult[],
  failed: number,
  { tested, rules, percent, untested }: Coverage,
): readonly string[] {
  const decisions = results.reduce((sum, one) => sum + one.decisions, 0)
  return [
    `${results.length - failed} of ${results.length} tests passed (${decisions} decisions)`,
    `rule coverage: ${tested} of ${rules} (${percent} %)`,
    ...untested.map((rule) => `  untested: ${rule}`),
  ]
}
