import { mergeByPolicy } from '../../language/for-each.ts'
import type { PolicyDocument } from '../../language/policy-document.ts'
import type { PolicySet } from '../../policy-set.ts'
import { acceptFindings, createFinding, createRuleIndex, type Finding, note, type Remark } from './check.ts'
import { lintConditions } from './lint-conditions.ts'
import { createEffectCheck } from './lint-effects.ts'
import { createNameCheck, type KnownCredentials } from './lint-names.ts'
import { createBypassCheck } from './lint-bypass.ts'
import { listRules } from '../steps.ts'

/**
 * Runs all checks on the policies in force, and on shadow policies as if they were in force beside them. Findings are
 * sorted by file and line.
 */
export function lintWithShadowPolicies(
  { set, withShadowPolicies: all }: Readonly<Record<'set' | 'withShadowPolicies', PolicySet>>,
  known?: KnownCredentials,
): readonly Finding[] {
  const findings = lintPolicies(set, known)
  const shadows = new Set(all.documents.filter(({ isShadow }) => isShadow).map(({ name }) => name))
  if (shadows.size === 0) return findings
  const ofShadows = lintPolicies(all, known).filter(({ policy = '' }) => shadows.has(policy))
  return sortFindings([...findings, ...ofShadows])
}

/** Runs all checks on policies, as if all were in force. Findings are sorted by file and line. */
export function lintPolicies(set: PolicySet, known?: KnownCredentials): readonly Finding[] {
  const { documents } = set
  const index = createRuleIndex(set)
  const checkNames = createNameCheck(index, known)
  const checks = [createEffectCheck(index), lintConditions, checkNames, createBypassCheck(index)]
  const findings = [
    ...documents.flatMap((document) =>
      [...lintDocument(document, set), ...checkNames({ document })].map((one) =>
        createFinding({ document }, one),
      ),
    ),
    ...index.rules.flatMap((own) =>
      checks.flatMap((check) => check(own)).map((one) => createFinding(own, one)),
    ),
  ]
  const merged = mergeByPolicy(
    acceptFindings(findings, documents),
    documents,
    ({ level, check, line, column }) => [level, check, line, column].join(':'),
  )
  return sortFindings(merged)
}

/** Finds shadow policies, and allows that end at `inherit: false`. */
function lintDocument({ namespace, inherit, isShadow }: PolicyDocument, set: PolicySet): readonly Remark[] {
  const above = inherit || namespace.length === 0 ? [] : set.documentsAbove(namespace.slice(0, -1))
  const ended = listRules(above).flatMap(({ document, rule }) =>
    rule.effect === 'allow' ? [`${document.name}/${rule.id}`] : [],
  )
  const messages = [
    ...(isShadow ? ['is evaluated, but not in force: mode: shadow'] : []),
    ...(ended.length > 0 ? [`ends what is allowed from above (inherit: false): ${ended.join(', ')}`] : []),
  ]
  return note('effect', ...messages)
}

function sortFindings(findings: readonly Finding[]): readonly Finding[] {
  return findings.toSorted((one, other) =>
    one.file === other.file ? one.line - other.line : one.file < other.file ? -1 : 1,
  )
}
