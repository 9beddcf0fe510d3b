import type { Finding } from './finding.ts'
import { createFolderRequirements } from './folder-requirements.ts'
import { lintCommitReads } from './lint-commit-reads.ts'
import { lintConditions } from './lint-conditions.ts'
import { lintDottedIds } from './lint-dotted-ids.ts'
import { lintGrants } from './lint-grants.ts'
import { lintManifests } from './lint-manifests.ts'
import { lintNames } from './lint-names.ts'
import { acceptFindings } from './accept-findings.ts'
import { mergeByPolicy } from '../../language/policy-instance.ts'
import { unknownSettings, type KnownSettings } from './known-settings.ts'
import { lintContextKeys } from './lint-context-keys.ts'
import { lintSubjects } from './lint-subjects.ts'
import { lintTables } from './lint-tables.ts'
import { lintWrites } from './lint-writes.ts'
import { lintAccessRules } from './lint-access-rules.ts'
import { lintBranchBypass } from './lint-branch-bypass.ts'
import { lintTableBypass } from './lint-table-bypass.ts'
import { createUnrestrictedGrantsFinder } from './unrestricted-grants.ts'
import { qualifiedRuleName, runTests, type DecisionTest } from '../../testing/decision-test.ts'
import type { PolicyDocument } from '../../language/policy-document.ts'
import { indexDocuments } from '../reaching-rules.ts'
import type { PolicySet } from '../../policy-set.ts'

interface LintedPolicies {
  /** Those in force. */
  readonly documents: readonly PolicyDocument[]
  readonly set: PolicySet
  readonly tests: readonly DecisionTest[]
  /** All, as if those with `mode: shadow` were in force, too. */
  readonly withShadowPolicies: Pick<LintedPolicies, 'documents' | 'set'>
}

/**
 * Runs all checks on the policies in force, and on shadow policies as if they were in force beside them. Findings are
 * sorted by file and line.
 */
export function lintWithShadowPolicies(
  { documents, set, tests, withShadowPolicies: all }: LintedPolicies,
  known: KnownSettings = unknownSettings,
): readonly Finding[] {
  const findings = lintPolicies(documents, set, tests, known)
  const shadows = new Set(all.documents.filter(({ isShadow }) => isShadow).map(({ name }) => name))
  if (shadows.size === 0) return findings
  const ofShadows = lintPolicies(all.documents, all.set, tests, known).filter(({ policy = '' }) =>
    shadows.has(policy),
  )
  return sortFindings([...findings, ...ofShadows])
}

/** Runs all checks on valid policies, as if all were in force. Findings are sorted by file and line. */
export function lintPolicies(
  documents: readonly PolicyDocument[],
  set: PolicySet,
  tests: readonly DecisionTest[],
  known: KnownSettings = unknownSettings,
): readonly Finding[] {
  const index = indexDocuments(documents)
  const findGrants = createUnrestrictedGrantsFinder(documents, index)
  const requiresFolders = createFolderRequirements(documents)
  const manifests = lintManifests(documents, findGrants, requiresFolders)
  const findings = [
    ...lintAccessRules(documents),
    ...lintConditions(documents),
    ...lintGrants(documents),
    ...lintBranchBypass(documents, index, findGrants),
    ...manifests,
    ...lintCommitReads(documents, manifests),
    ...lintTableBypass(documents, index, findGrants, requiresFolders),
    ...lintNames(documents),
    ...lintDottedIds(documents),
    ...lintSubjects(documents, known),
    ...lintTables(documents, tests),
    ...lintWrites(documents),
    ...lintContextKeys(documents, known),
    ...findUntested(documents, set, tests),
  ]
  const merged = mergeByPolicy(
    acceptFindings(findings, documents),
    documents,
    ({ level, check, line, column }) => [level, check, line, column].join(':'),
  )
  return sortFindings(merged)
}

function sortFindings(findings: readonly Finding[]): readonly Finding[] {
  return findings.toSorted((one, other) => compareText(one.file, other.file) || one.line - other.line)
}

function findUntested(
  documents: readonly PolicyDocument[],
  set: PolicySet,
  tests: readonly DecisionTest[],
): readonly Finding[] {
  const { decidingRules } = runTests(tests, () => set)
  return documents
    .filter(
      ({ name, rules }) =>
        !rules.some(({ id }) => decidingRules.has(qualifiedRuleName({ policy: name, rule: id }))),
    )
    .map(({ name, file, line, column }) => {
      const message = `no test covers a rule of ${name}; add tests under "tests"`
      return { level: 'info', check: 'untested', file, line, column, policy: name, message }
    })
}

function compareText(one: string, other: string): number {
  if (one === other) return 0
  return one < other ? -1 : 1
}
