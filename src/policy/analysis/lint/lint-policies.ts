import { mergeByPolicy } from '../../language/for-each.ts'
import type { PolicySet } from '../../policy-set.ts'
import { acceptFindings, type Finding } from './finding.ts'
import { lintAccessRules } from './lint-access-rules.ts'
import { lintBypass } from './lint-bypass.ts'
import { lintConditions } from './lint-conditions.ts'
import { lintEffects } from './lint-effects.ts'
import { lintSubjects, type KnownCredentials } from './lint-subjects.ts'

interface LintedPolicies {
  /** Those in force. */
  readonly set: PolicySet
  /** All, as if those with `mode: shadow` were in force, too. */
  readonly withShadowPolicies: Pick<LintedPolicies, 'set'>
}

/**
 * Runs all checks on the policies in force, and on shadow policies as if they were in force beside them. Findings are
 * sorted by file and line.
 */
export function lintWithShadowPolicies(
  { set, withShadowPolicies: all }: LintedPolicies,
  known?: KnownCredentials,
): readonly Finding[] {
  const findings = lintPolicies(set, known)
  const shadows = new Set(all.set.documents.filter(({ isShadow }) => isShadow).map(({ name }) => name))
  if (shadows.size === 0) return findings
  const ofShadows = lintPolicies(all.set, known).filter(({ policy = '' }) => shadows.has(policy))
  return sortFindings([...findings, ...ofShadows])
}

/** Runs all checks on policies, as if all were in force. Findings are sorted by file and line. */
export function lintPolicies(set: PolicySet, known?: KnownCredentials): readonly Finding[] {
  const { documents } = set
  const findings = [
    ...lintAccessRules(set),
    ...lintConditions(documents),
    ...lintEffects(set),
    ...lintBypass(set),
    ...(known === undefined ? [] : lintSubjects(documents, known)),
  ]
  const merged = mergeByPolicy(
    acceptFindings(findings, documents),
    documents,
    ({ level, check, line, column }) => [level, check, line, column].join(':'),
  )
  return sortFindings(merged)
}

function sortFindings(findings: readonly Finding[]): readonly Finding[] {
  return findings.toSorted((one, other) =>
    one.file === other.file ? one.line - other.line : one.file < other.file ? -1 : 1,
  )
}
