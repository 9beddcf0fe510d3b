import type { Finding } from './finding.ts'
import { lintConditions } from './lint-conditions.ts'
import { lintManifests } from './lint-manifests.ts'
import { lintNames } from './lint-names.ts'
import { lintRules } from './lint-rules.ts'
import { lintWayAround } from './lint-way-around.ts'
import { openGrantsFinder } from './open-grants.ts'
import { fullName, runTests, type DecisionTest } from './decision-test.ts'
import type { PolicyDocument } from './policy-document.ts'
import { indexDocuments } from './rule-reach.ts'
import type { PolicySet } from './trie.ts'

/** Everything to say about policies that can be used, by file and line. */
export function lintPolicies(
  documents: readonly PolicyDocument[],
  set: PolicySet,
  tests: readonly DecisionTest[],
): readonly Finding[] {
  const index = indexDocuments(documents)
  const findGrants = openGrantsFinder(documents, index)
  const findings = [
    ...lintRules(documents),
    ...lintConditions(documents),
    ...lintWayAround(documents, index, findGrants),
    ...lintManifests(documents, findGrants),
    ...lintNames(documents),
    ...untested(documents, set, tests),
  ]
  return findings.toSorted((one, other) => compare(one.file, other.file) || one.line - other.line)
}

function untested(
  documents: readonly PolicyDocument[],
  set: PolicySet,
  tests: readonly DecisionTest[],
): readonly Finding[] {
  const { deciding } = runTests(tests, () => set)
  return documents
    .filter(({ name, rules }) => !rules.some(({ id }) => deciding.has(fullName({ policy: name, rule: id }))))
    .map(({ name, file, line }) => {
      const message = `no test covers a rule of ${name}; add tests under "tests"`
      return { level: 'info', check: 'untested', file, line, message }
    })
}

function compare(one: string, other: string): number {
  if (one === other) return 0
  return one < other ? -1 : 1
}
