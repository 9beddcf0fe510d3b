import { permissionNames, type Permission } from '../../../catalog-api/permissions.ts'
import type { OperationFacts } from '../../conditions/authorization-request.ts'
import type { Condition } from '../../conditions/condition.ts'
import {
  describeConstantParts,
  describePatternMistakes,
  maxDays,
} from '../../conditions/condition-mistakes.ts'
import { MissingFactError, unknown } from '../../conditions/fact.ts'
import { describeRegularExpression } from '../../conditions/name-pattern.ts'
import { constantFacts, factsAvailableFor } from '../../conditions/permission-facts.ts'
import { describePermissionSet, listNamedPermissions } from '../../language/policy-vocabulary.ts'
import type { PolicyDocument, PolicyRule } from '../../language/policy-document.ts'
import { createFinding, type Finding } from './finding.ts'

/**
 * Finds conditions, and parts of them, with a constant result for all operations of their rule, conditions on facts that no
 * operation of their rule has, texts that are mistaken for patterns, also in `tables`, and rules that have ended by `now`.
 */
export function lintConditions(documents: readonly PolicyDocument[], now = Date.now()): readonly Finding[] {
  return documents.flatMap((document) =>
    document.rules.flatMap((rule) => {
      const warn = (check: string, message: string) =>
        createFinding({ document, rule }, 'warning', check, message)
      const { condition, when = 'true', until, tables = [] } = rule
      const patterns = tables.flatMap((pattern) => describeRegularExpression(pattern) ?? [])
      const end = until === undefined ? undefined : describeEnd(until, now)
      const findings = [
        ...patterns.map((problem) => warn('pattern', `names tables by a pattern: ${problem}`)),
        ...(end === undefined ? [] : [warn('until', end)]),
      ]
      if (condition === undefined || condition.requirement !== undefined) return findings
      const constant = describeConstant(rule, condition)
      return [
        ...findings,
        ...(constant === undefined ? [] : [createFinding({ document, rule }, ...constant)]),
        ...describeAbsentFacts(rule, condition).map((message) => warn('fact', message)),
        ...describePatternMistakes(when).map((mistake) =>
          warn('pattern', `has a condition with a mistaken pattern: ${mistake}`),
        ),
        ...describeConstantParts(when, listNamedPermissions(rule), now).map((part) =>
          warn('effect', `has a condition of which ${part}`),
        ),
      ]
    }),
  )
}

/** Result that is equal in every request. `unknown`: it depends on an unknown fact. */
type ConstantResult = 'true' | 'false' | 'failed' | 'unknown'

/** Returns the result of the condition with these facts; undefined if it depends on more of the request. */
export function constantResult(
  condition: Condition,
  permission: Permission,
  operation: OperationFacts = constantFacts(permission),
): ConstantResult | undefined {
  try {
    return condition.evaluate({ operation, permission }) ? 'true' : 'false'
  } catch (error) {
    if (!(error instanceof MissingFactError)) return 'failed'
    return error.isPending ? undefined : 'unknown'
  }
}

function describeConstant(
  rule: PolicyRule,
  condition: Condition,
): readonly ['warning' | 'error', 'condition', string] | undefined {
  const results = new Set(
    listNamedPermissions(rule).map((permission) => constantResult(condition, permission)),
  )
  const applies = (result: ConstantResult | undefined): boolean | undefined =>
    result && (result === 'true' || (rule.effect === 'deny' && result !== 'false'))
  const [outcome, ...others] = new Set([...results].map(applies))
  if (outcome === undefined || others.length > 0) return undefined
  if (results.size === 1 && results.has('true'))
    return ['warning', 'condition', 'has a condition that is always true; remove "when"']
  const reasons = [...results].map((result) => {
    if (result === 'failed') return 'always fails'
    return result === 'unknown' ? describeUnknown(rule, condition) : `is always ${result}`
  })
  const effect = outcome ? 'so it always applies' : 'so it never applies'
  return ['error', 'condition', `has a condition that ${reasons.join(', or ')}, ${effect}`]
}

function describeUnknown(rule: PolicyRule, { facts }: Condition): string {
  const listUnknown = (permission: Permission) =>
    facts.filter((fact) => constantFacts(permission)[fact] === unknown)
  const depending = listNamedPermissions(rule).filter((permission) => listUnknown(permission).length > 0)
  const never = new Set(depending.flatMap(listUnknown))
  return `depends on ${[...never].join(', ')}, which is always unknown for ${describePermissionSet(new Set(depending))}`
}

function describeAbsentFacts(rule: PolicyRule, { facts }: Condition): readonly string[] {
  const available = new Set(listNamedPermissions(rule).flatMap((one) => [...factsAvailableFor(one)]))
  return facts
    .filter((fact) => !available.has(fact))
    .map((fact) => {
      const having = new Set(permissionNames.filter((permission) => factsAvailableFor(permission).has(fact)))
      return (
        `has a condition on ${fact}, which is empty for all its operations; ` +
        `it is a fact of ${describePermissionSet(having)}`
      )
    })
}

const dayMs = 24 * 60 * 60 * 1000

/** Finds ends in the past, and those that are so far away that nobody will think of them. */
function describeEnd(until: string, now: number): string | undefined {
  const end = Date.parse(until)
  if (end <= now) return `ended at ${until} and allows nothing any more; remove it, or choose another end`
  if (end - now <= maxDays * dayMs) return undefined
  return `ends at ${until}, in more than ${maxDays} days; choose an earlier end, or remove "until" if the grant is permanent`
}
