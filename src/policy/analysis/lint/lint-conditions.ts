import { permissionNames, type Permission } from '../../../catalog-api/permissions.ts'
import type { Condition } from '../../conditions/condition.ts'
import { constantResult, type ConstantResult } from './constant-condition.ts'
import { unknown } from '../../conditions/fact.ts'
import { describeRegularExpression } from '../../conditions/name-pattern.ts'
import { createFinding, type Finding } from './finding.ts'
import { constantFacts, factsAvailableFor } from '../../conditions/permission-facts.ts'
import { listNamedPermissions } from '../../language/deny-coverage.ts'
import { describePermissionSet } from '../../language/describe-permissions.ts'
import type { PolicyDocument, PolicyRule } from '../../language/policy-document.ts'
import type { OperationFacts } from '../../conditions/authorization-request.ts'

/**
 * Finds conditions with a constant result for all operations of their rule, conditions on facts that no
 * operation of their rule has, and texts that are mistaken for patterns, also in `tables`.
 */
export function lintConditions(documents: readonly PolicyDocument[]): readonly Finding[] {
  return documents.flatMap((document) =>
    document.rules.flatMap((rule) => {
      const { condition } = rule
      const ofTables = findRegularExpressions(document, rule)
      if (condition === undefined || condition.requirement !== undefined) return ofTables
      const constant = findConstantCondition(document, rule, condition)
      return [
        ...ofTables,
        ...(constant === undefined ? [] : [constant]),
        ...findAbsentFacts(document, rule, condition),
        ...(condition.patternMistakes ?? []).map((mistake) =>
          createFinding(
            document,
            rule,
            'warning',
            'pattern',
            `has a condition with a mistaken pattern: ${mistake}`,
          ),
        ),
      ]
    }),
  )
}

function findRegularExpressions(document: PolicyDocument, rule: PolicyRule): readonly Finding[] {
  return (rule.tables ?? []).flatMap((pattern) => {
    const problem = describeRegularExpression(pattern)
    return problem === undefined
      ? []
      : [createFinding(document, rule, 'warning', 'pattern', `names tables by a pattern: ${problem}`)]
  })
}

function constantEffect({ effect }: PolicyRule, result: ConstantResult): 'applies' | 'does not apply' {
  const appliesAnyway = effect === 'deny' && result !== 'false'
  return appliesAnyway || result === 'true' ? 'applies' : 'does not apply'
}

function findConstantCondition(
  document: PolicyDocument,
  rule: PolicyRule,
  condition: Condition,
): Finding | undefined {
  const results = new Set<ConstantResult>()
  for (const permission of listNamedPermissions(rule)) {
    const result = constantResult(condition, permission)
    if (result === undefined) return undefined
    results.add(result)
  }
  const outcomes = new Set([...results].map((result) => constantEffect(rule, result)))
  if (outcomes.size !== 1) return undefined
  const [outcome] = outcomes
  const [result] = results
  if (results.size === 1 && result === 'true') {
    const message = 'has a condition that is always true; remove "when"'
    return createFinding(document, rule, 'warning', 'condition', message)
  }
  const reasons = [...results].map((one) => describeConstant(one, rule, condition))
  const effect = outcome === 'applies' ? 'so it always applies' : 'so it never applies'
  const message = `has a condition that ${reasons.join(', or ')}, ${effect}`
  return createFinding(document, rule, 'error', 'condition', message)
}

function describeConstant(result: ConstantResult, rule: PolicyRule, { facts }: Condition): string {
  if (result === 'failed') return 'always fails'
  if (result !== 'unknown') return `is always ${result}`
  const depending = listNamedPermissions(rule).filter((permission) =>
    facts.some((fact) => isUnknown(permission, fact)),
  )
  const never = facts.filter((fact) => depending.some((permission) => isUnknown(permission, fact)))
  return `depends on ${never.join(', ')}, which is always unknown for ${describePermissionSet(new Set(depending))}`
}

function isUnknown(permission: Permission, fact: keyof OperationFacts): boolean {
  return constantFacts(permission)[fact] === unknown
}

function findAbsentFacts(
  document: PolicyDocument,
  rule: PolicyRule,
  condition: Condition,
): readonly Finding[] {
  return condition.facts
    .filter(
      (fact) => !listNamedPermissions(rule).some((permission) => factsAvailableFor(permission).has(fact)),
    )
    .map((fact) => {
      const having = new Set(permissionNames.filter((permission) => factsAvailableFor(permission).has(fact)))
      const message =
        `has a condition on ${fact}, which is empty for all its operations; ` +
        `it is a fact of ${describePermissionSet(having)}`
      return createFinding(document, rule, 'warning', 'fact', message)
    })
}

const dayMs = 24 * 60 * 60 * 1000
const maxDays = 366

/** Finds allow rules that have ended by `now`, and ends that are so far away that nobody will think of them. */
export function lintGrants(documents: readonly PolicyDocument[], now = Date.now()): readonly Finding[] {
  return documents.flatMap((document) =>
    document.rules.flatMap((rule) => {
      const { until } = rule
      const problem = until === undefined ? undefined : describeEnd(until, now)
      return problem === undefined ? [] : [createFinding(document, rule, 'warning', 'until', problem)]
    }),
  )
}

function describeEnd(until: string, now: number): string | undefined {
  const end = Date.parse(until)
  if (end <= now) return `ended at ${until} and allows nothing any more; remove it, or choose another end`
  if (end - now <= maxDays * dayMs) return undefined
  return `ends at ${until}, in more than ${maxDays} days; choose an earlier end, or remove "until" if the grant is permanent`
}
