import {
  describeExpectation,
  describeSent,
  qualifiedRuleName,
  type TestResult,
  type TestRun,
} from './decision-test.ts'
import { groupBy } from '../../lib/group-by.ts'

export function createJunitReport({ results }: TestRun): string {
  const suites = [...groupBy(results, ({ test }) => test.file)].map(([file, inFile]) => {
    const head = `  <testsuite name=${quoteAttribute(file)} tests="${inFile.length}" failures="${inFile.filter(hasFailed).length}">`
    return [head, ...inFile.map(formatTestCase), '  </testsuite>'].join('\n')
  })
  const head = `<testsuites tests="${results.length}" failures="${results.filter(hasFailed).length}">`
  return ['<?xml version="1.0" encoding="UTF-8"?>', head, ...suites, '</testsuites>', ''].join('\n')
}

function hasFailed({ mismatches }: TestResult): boolean {
  return mismatches.length > 0
}

function formatTestCase({ test, mismatches }: TestResult): string {
  const name = test.name === '' ? `line ${test.line}` : test.name
  const head = `    <testcase classname=${quoteAttribute(test.document)} name=${quoteAttribute(name)} file=${quoteAttribute(test.file)} line="${test.line}"`
  if (mismatches.length === 0) return `${head}/>`
  const messages = mismatches.map((mismatch) => {
    const { permission, decision } = mismatch
    const by = decision.rule
      ? `${qualifiedRuleName(decision.rule)} at ${decision.rule.file}:${decision.rule.line}`
      : 'no rule'
    return `${permission}: expected ${describeExpectation(test)}, decided ${decision.allowed ? 'allow' : 'deny'} by ${by}${describeSent(test, mismatch)}`
  })
  return `${head}>\n      <failure message=${quoteAttribute(messages.join('; '))}/>\n    </testcase>`
}

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }

/** Quotes an attribute value. Characters that XML 1.0 does not allow are replaced by U+FFFD. */
function quoteAttribute(text: string): string {
  const escaped = text
    .replaceAll(/[\p{Cs}\u0000-\u001f\u007f-\u009f\ufffe\uffff]/gu, '\ufffd')
    .replaceAll(/[&<>"]/g, (character) => entities[character] ?? character)
  return `"${escaped}"`
}
