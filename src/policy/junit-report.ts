import { fullName, type TestOutcome, type TestRun } from './decision-test.ts'
import { grouped } from './grouped.ts'

/** The tests in the XML that CI systems read, one suite for each file. */
export function junitReport({ outcomes }: TestRun): string {
  const suites = [...grouped(outcomes, ({ test }) => test.file)].map(([file, inFile]) => {
    const head = `  <testsuite name=${quoted(file)} tests="${inFile.length}" failures="${inFile.filter(isFailed).length}">`
    return [head, ...inFile.map(testCase), '  </testsuite>'].join('\n')
  })
  const head = `<testsuites tests="${outcomes.length}" failures="${outcomes.filter(isFailed).length}">`
  return ['<?xml version="1.0" encoding="UTF-8"?>', head, ...suites, '</testsuites>', ''].join('\n')
}

function isFailed({ disagreements }: TestOutcome): boolean {
  return disagreements.length > 0
}

function testCase({ test, disagreements }: TestOutcome): string {
  const name = test.name === '' ? `line ${test.line}` : test.name
  const head = `    <testcase classname=${quoted(test.document)} name=${quoted(name)} file=${quoted(test.file)} line="${test.line}"`
  if (disagreements.length === 0) return `${head}/>`
  const said = disagreements.map(({ permission, decision }) => {
    const by = decision.rule
      ? `${fullName(decision.rule)} at ${decision.rule.file}:${decision.rule.line}`
      : 'no rule'
    const rule = test.rule === undefined ? '' : ` by ${test.rule}`
    return `${permission}: expected ${test.expect}${rule}, decided ${decision.allowed ? 'allow' : 'deny'} by ${by}`
  })
  return `${head}>\n      <failure message=${quoted(said.join('; '))}/>\n    </testcase>`
}

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }

/** An attribute value; what XML 1.0 cannot hold is replaced. */
function quoted(text: string): string {
  const escaped = text
    .replaceAll(/[\p{Cs}\u0000-\u001f\u007f-\u009f\ufffe\uffff]/gu, '\ufffd')
    .replaceAll(/[&<>"]/g, (character) => entities[character] ?? character)
  return `"${escaped}"`
}
